"""The references reach what is known: least squares on a linear system is a closed form."""

import numpy as np
import pytest

from benchmarks.validation.nonpolynomial import families
from benchmarks.validation.nonpolynomial.experiments import EXPERIMENTS
from benchmarks.validation.nonpolynomial.regression import Inputs, tuned_regression
from nke.bench.flow_fit import fit_flow, flow
from nke.evaluation import relative_error
from nke.systems import GeometricBrownianMotion, OrnsteinUhlenbeck, PeriodicPotential

FEW = (2.0, 8.0)  # length scales, for speed


@pytest.fixture(scope="module")
def linear():
    system = OrnsteinUhlenbeck(rate=1.5)
    seen = system.simulate(64, seed=0).transitions()
    return system, seen, np.linspace(-1, 1, 50)[:, None]


def test_the_flow_of_a_linear_drift_is_an_exponential():
    x, step = np.array([[1.0], [2.0]]), np.array([0.1, 0.5])
    np.testing.assert_allclose(flow(lambda x: -2 * x, x, step), x * np.exp(-2 * step)[:, None], rtol=1e-3)


def test_the_flow_fit_of_a_linear_system_is_the_exact_autoregression(linear):
    system, seen, _ = linear
    found = fit_flow(lambda p, x: -p[0] * x, [1.5], seen, system).parameters[0]
    step = seen.step[0]
    exact = -np.log(np.sum(seen.x * seen.y) / np.sum(seen.x**2)) / step
    assert found == pytest.approx(exact, rel=1e-3)


@pytest.mark.validation
def test_regression_on_a_linear_system_is_at_least_as_good_as_a_line(linear):
    """A line is among the members, at the largest ridge; the truth chooses the best."""
    system, seen, points = linear
    found = tuned_regression(seen, system, points, Inputs(), FEW)
    design = np.hstack([np.ones_like(seen.x), seen.x])
    line, *_ = np.linalg.lstsq(design, seen.displacement / seen.step[:, None], rcond=None)
    middle = np.exp(line[1] * seen.step[0] / 2)  # of a slope that was measured at the start of the step
    straight = relative_error(
        np.hstack([np.ones_like(points), points]) @ line / middle, true=system.drift(points)
    ).relative
    assert found.error < straight + 0.01


@pytest.mark.validation
def test_regression_in_logarithms_returns_the_drift_of_the_states():
    """Geometric Brownian motion has a constant drift in logarithms; Itô's term is half of the squared volatility."""
    system = GeometricBrownianMotion(growth=0.5, volatility=0.4)
    seen = system.simulate(128, seed=0).transitions()
    points = np.linspace(0.5, 2.0, 30)[:, None]
    found = tuned_regression(seen, system, points, Inputs("logarithms", positive=True), FEW)
    exact = np.mean(np.log(seen.y / seen.x)) / seen.step[0] + 0.4**2 / 2
    assert found.error <= abs(exact / 0.5 - 1) + 0.02


@pytest.mark.validation
def test_sines_and_cosines_hold_a_periodic_drift():
    system = PeriodicPotential()
    seen, points = system.simulate(64, seed=0).transitions(), np.linspace(-3, 3, 60)[:, None]
    plain = tuned_regression(seen, system, points, Inputs(), FEW).error
    angles = tuned_regression(seen, system, points, Inputs("angles", angles=(0,)), FEW).error
    assert angles < plain


def test_steps_with_jumps_do_not_move_the_references():
    system = PeriodicPotential()
    seen = system.simulate(128, seed=1).transitions()
    family = families.linear([[(0.3, lambda x: np.ones_like(x)), (-1.0, np.sin)]])
    fitted = fit_flow(family.drift, family.true, seen, system)
    assert 0.01 < 1 - fitted.smooth.mean() < 0.04  # 0.5 jumps a unit of time, steps of 0.05
    np.testing.assert_allclose(fitted.parameters, family.true, atol=0.08)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_family_holds_its_truth(name):
    experiment = EXPERIMENTS[name]
    x = experiment.system.initial(20, np.random.default_rng(0))
    np.testing.assert_allclose(
        experiment.family.drift(np.array(experiment.family.true), x), experiment.system.drift(x), rtol=1e-9, atol=1e-12
    )
