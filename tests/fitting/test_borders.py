"""Borders: found where the law would have crossed them, and nowhere else; simulated states stay within."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.data import Coordinates, Trajectories
from nke.fitting import SelectionRules
from nke.fitting.borders import expected_crossings, find_borders
from nke.operators import Advection, Diffusion, Generator
from nke.systems import OrnsteinUhlenbeck
from true_models import true_model

RULES = SelectionRules()


def walk_between(low: float, high: float, noise: float = 0.2) -> tuple[nke.Model, Trajectories]:
    """Brownian motion reflected at two borders, and the law of Brownian motion without them."""
    rng, x, path = np.random.default_rng(0), np.full((50, 1), (low + high) / 2), []
    for _ in range(200):
        path.append(x)
        x = low + np.abs(x + noise * rng.normal(size=x.shape) - low)
        x = high - np.abs(high - x)
    generator = Generator(Advection(jnp.zeros_like), Diffusion(lambda x: noise * jnp.eye(1)))
    model = nke.Model(generator, Coordinates(np.zeros(1), np.ones(1), 1.0), 1.0, ("level",), ("",))
    return model, Trajectories(np.stack(path, axis=1), 1.0, names=["level"])


def found_borders(model, data):
    return find_borders(model, data, expected_crossings(model, data, data.transitions(), RULES), RULES)


@pytest.mark.parametrize(("low", "high"), [(0.0, 2.0), (-1.0, 1.0)])
def test_a_walk_between_walls(low, high):
    """One step in twelve would cross a wall; the ends of 10,000 steps of size 0.2 are close to them."""
    model, data = walk_between(low, high)
    borders, (decision,) = found_borders(model, data)
    assert borders is not None
    assert borders[0] == pytest.approx((low, high), abs=1e-3)
    assert (borders[0][0] == 0) == (low == 0)  # zero is exact for what is positive
    assert decision.answer.startswith("level ≥ ")
    assert all(found["crossings that the law would have made"] > 100 for found in decision.evidence.values())
    assert "contain the push of the border" in decision.warning  # far more than one step in a hundred


def test_simulated_states_stay_within_and_fill_the_box():
    """The stationary law of reflected Brownian motion is uniform: mean ½, variance 1/12."""
    model, _ = walk_between(0.0, 1.0)
    paths = replace(model, borders=((0.0, 1.0),)).sample([0.1], np.arange(0.0, 101.0, 50.0), paths=4000)
    assert paths.min() >= 0
    assert paths.max() <= 1
    assert abs(paths[:, -1].mean() - 0.5) < 4 * np.sqrt(1 / 12 / 4000)
    assert abs(paths[:, -1].var() - 1 / 12) < 4 * np.sqrt((1 / 80 - 1 / 144) / 4000)


def test_no_border_where_there_is_none():
    """The chance of any in 20 data sets is about 2·20·e^−7 = 4 %; the seeds are fixed."""
    system = OrnsteinUhlenbeck()
    model = true_model(system, step=system.interval)
    for seed in range(20):
        data = system.simulate(16, seed=seed)
        assert data.observed_states.min() < 0
        assert found_borders(model, data) == (None, [])


def test_what_is_never_negative_stays_so():
    """A process far above zero: no step would have crossed it, but a law says nothing about states that far away."""
    system = OrnsteinUhlenbeck(mean=10.0)
    data = system.simulate(16, seed=3)
    borders, (decision,) = found_borders(true_model(system, step=system.interval), data)
    assert borders == ((0.0, np.inf),)
    assert not decision.warning
    assert decision.evidence[f"{system.names[0]} ≥ 0"]["crossings that the law would have made"] < 1e-6


def test_borders_survive_a_file(tmp_path, small_fit):
    model = replace(small_fit["model"], borders=((-np.inf, 2.5),))
    model.save(tmp_path / "model.nke")
    assert nke.load(tmp_path / "model.nke").borders == ((-np.inf, 2.5),)


def test_a_fit_of_a_share_stays_between_its_bounds():
    """Wright–Fisher diffusion, dx = 0.6 (0.4 − x) dt + √(0.3 x (1 − x)) dW, nothing said: no path leaves [0, 1]."""
    rng, x, path = np.random.default_rng(1), np.random.default_rng(2).uniform(0.05, 0.95, (64, 1)), []
    for _ in range(81):
        path.append(x)
        for _ in range(10):
            kick = np.sqrt(0.005 * 0.3 * x * (1 - x)) * rng.normal(size=x.shape)
            x = np.clip(x + 0.005 * 0.6 * (0.4 - x) + kick, 1e-9, 1 - 1e-9)
    data = Trajectories(np.stack(path, axis=1), 0.05, names=["share"])
    result = nke.fit(data, nke.Likelihood(networks=False), jumps=False, progress=False, diagnosis=False)
    paths = result.model.sample(path[0], np.arange(0, 20, 0.05), seed=1)
    assert paths.min() >= 0
    assert paths.max() <= 1
    assert result.decision("borders").answer == "share ≥ 0, share ≤ 1"
    assert result.model.borders == ((0.0, 1.0),)
    # Noise in proportion to roots of the share and of what it lacks to one, so that the law leads out of neither:
    # within four standard errors, 4/√(2·5000) of it, and a hundredth for the discrete model.
    g = np.sqrt(np.asarray(result.model.diffusion(np.array([[0.1], [0.5], [0.9]])))[:, 0, 0])
    np.testing.assert_allclose(g, np.sqrt(0.3 * np.array([0.09, 0.25, 0.09])), rtol=0.05)
