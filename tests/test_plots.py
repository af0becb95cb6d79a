"""Plots of models with known coefficients, in one to five dimensions: what is drawn, and what stands on the axes."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure

import nke
from nke.data import Coordinates, Trajectories
from nke.evaluation import simulate_like
from nke.fitting.loop import Curve
from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.operators import Advection, Diffusion, Generator, PoissonJump
from nke.plots.diffusion import _round_down
from nke.plots.view import View

COEFFICIENTS = ("drift", "diffusion", "jump_rate", "jump_law")


@cache
def linear(dimension, jumps=True):
    """f = −x, a = I/4 and rare standard normal jumps: in raw coordinates, so that the model is cheap to build."""
    law = GaussianMixture(jnp.ones(1), jnp.zeros((1, dimension)), jnp.eye(dimension)[None])
    jump = PoissonJump.from_functions(lambda z: 0.3 + 0.0 * z[0], lambda z: law) if jumps else None
    generator = Generator(Advection(lambda z: -z), Diffusion.from_tensor(lambda z: jnp.eye(dimension) / 4), jump)
    names = tuple(f"q{i}" for i in range(dimension))
    coordinates = Coordinates(np.zeros(dimension), np.ones(dimension), 1.0)
    return Model(generator, coordinates, 0.1, names, ("mm",) * dimension, unit_of_time="s")


def recorded(dimension, ragged=False):
    states = np.random.default_rng(0).standard_normal((60, 6, dimension)).cumsum(axis=1)
    times = 0.1 * np.arange(6)
    if ragged:
        return Trajectories([s[: 2 + m % 5] for m, s in enumerate(states)], [times[: 2 + m % 5] for m in range(60)])
    return Trajectories(states, times)


def words(figure):
    """All text in a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize("name", COEFFICIENTS)
def test_coefficients_in_every_dimension(dimension, name):
    figure = Figure(layout="constrained")
    axes = getattr(nke.plots, name)(linear(dimension), recorded(dimension), figure=figure)
    if dimension == 3:
        figure.canvas.draw()
    assert set(axes.flat) <= set(figure.axes)
    panels = {1: 1, 2: 1, 3: 3, 5: 6} if name != "jump_law" else {1: 1, 2: 2, 3: 3, 5: 4}
    assert sum(axis.axison for axis in axes.flat) == panels[dimension]
    seen = words(figure)
    assert all(f"q{i} [mm]" in seen for i in range(min(dimension, 4)))
    assert "q4" not in seen


def test_curves_are_the_coefficients_in_their_units():
    model, data = linear(1), recorded(1)
    for name, value, unit in (
        ("drift", lambda x: -x, "mm/s"),
        ("diffusion", lambda x: 0.25 + 0 * x, "mm²/s"),
        ("jump_rate", lambda x: 0.3 + 0 * x, "1/s"),
    ):
        [[axis]] = getattr(nke.plots, name)(model, data, figure=Figure())
        [line] = [line for line in axis.lines if line.get_label() == "model"]
        x, y = line.get_data()
        np.testing.assert_allclose(y, value(x), atol=1e-5)
        assert axis.get_ylabel().endswith(f"[{unit}]")


def test_arrows_point_along_the_drift():
    """f = −x points to the origin, from the middles of cells that hold data only."""
    model, data = linear(2), recorded(2)
    [[axis]] = nke.plots.drift(model, data, figure=Figure())
    [arrows] = [part for part in axis.collections if hasattr(part, "U")]
    extent = np.array([axis.get_xlim()[1] - axis.get_xlim()[0], axis.get_ylim()[1] - axis.get_ylim()[0]])
    direction, place = np.stack([arrows.U, arrows.V], axis=1), arrows.get_offsets() / extent
    cross = direction[:, 0] * place[:, 1] - direction[:, 1] * place[:, 0]
    np.testing.assert_allclose(cross, 0, atol=1e-5)
    assert ((direction * place).sum(axis=1) <= 0).all()
    states = data.observed_states / extent
    reach = np.abs(np.asarray(place)[:, None] - states[None]).max(axis=-1).min(axis=1)
    assert reach.max() <= 0.5 / 16 + 1e-9


def test_ellipses_have_the_spread_of_the_noise():
    [[axis]] = nke.plots.diffusion(linear(2), recorded(2), figure=Figure())
    ellipse = np.stack(next(line for line in axis.lines if len(line.get_xdata()) == 61).get_data())
    radius = np.linalg.norm(ellipse - ellipse[:, :-1].mean(axis=1, keepdims=True), axis=0)
    duration = float(axis.figure.get_suptitle().split("time of ")[1].split()[0])
    np.testing.assert_allclose(radius, np.sqrt(0.25 * duration), rtol=1e-4)
    assert [_round_down(value) for value in (0.99, 1, 4.9, 70)] == [0.5, 1, 2, 50]


def test_the_law_of_a_jump_is_a_density():
    axes = nke.plots.jump_law(linear(3), recorded(3), figure=Figure())
    for axis in axes.flat:
        [line] = [line for line in axis.lines if line.get_label() == "model"]
        x, y = line.get_data()
        assert np.trapezoid(y, x) == pytest.approx(1, abs=1e-3)
        assert x[y.argmax()] == pytest.approx(0, abs=0.02)


def test_other_coordinates_stay_with_the_data():
    """On a curved set of states, a cell's state lies on the curve and not at the overall mean."""
    x = np.linspace(-1, 1, 4000)
    states = np.stack([x, x**2, x**3], axis=1)
    view = View(states, states.min(axis=0), states.max(axis=0), np.median(states, axis=0))
    cells, held = view.plane(0, 1, 20)
    np.testing.assert_allclose(cells[held][:, 2], cells[held][:, 0] ** 3, atol=0.15)


@pytest.mark.parametrize("ragged", [False, True])
def test_recorded_beside_simulated(ragged):
    model, data = linear(2, jumps=False), recorded(2, ragged)
    simulated = simulate_like(model, data, seed=1)
    np.testing.assert_allclose(simulated.initial, data.initial)
    assert [len(times) for times in simulated.times] == [len(times) for times in data.times]
    figure = Figure(layout="constrained")
    axes = nke.plots.paths(model, data, simulated=simulated, figure=figure)
    assert axes.shape == (2, 2)
    assert all(len(axis.lines) == 20 for axis in axes.flat)
    assert all(word in words(figure) for word in ("recorded", "simulated", "q1 [mm]", "time [s]"))
    axes = nke.plots.densities(model, data, simulated=simulated, figure=Figure())
    assert axes.shape == ((1, 2) if ragged else (2, 3))


def test_data_of_another_system_is_refused():
    with pytest.raises(ValueError, match="expected data with 2 coordinates"):
        nke.plots.drift(linear(2), recorded(3), figure=Figure())


def test_history_marks_what_was_kept():
    curve = Curve(np.array([200, 400, 600]), np.array([3.0, 1, 0.5]), np.array([3.0, 1.2, 1.3]), 1, 1.0)
    result = nke.FitResult(linear(1), {"trial: plain": curve, "likelihood": curve}, {})
    [[axis]] = nke.plots.history(result, figure=Figure())
    [kept] = [line for line in axis.lines if line.get_label() == "kept"]
    assert (*kept.get_xdata(), *kept.get_ydata()) == (400, 1.2)
    with pytest.raises(ValueError, match="history"):
        nke.plots.history(nke.FitResult(linear(1), {}, {}), figure=Figure())
