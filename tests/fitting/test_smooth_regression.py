"""Smooth drift and noise by regression, of known laws: errors of estimates, and when noise is the same everywhere."""

import numpy as np
import pytest

import nke
from nke.fitting.initial_moments import TransitionSample
from nke.fitting.smooth_regression import Functions, SmoothRegression

STEP, COUNT = 0.01, 8000


def transitions(drift, factor, dimension: int = 1, seed: int = 0, jumped=None) -> TransitionSample:
    """Short steps from independent states, uniform on (−3, 3), with the drift half a step ahead."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, (COUNT, dimension))
    noise = np.einsum("tij,tj->ti", factor(x), rng.normal(size=x.shape))
    moved = STEP * drift(x + STEP / 2 * drift(x)) + np.sqrt(STEP) * noise
    if jumped is not None:
        moved += jumped[:, None] * rng.normal(size=x.shape)
    data = nke.Trajectories(np.stack([x, x + moved], axis=1), STEP)
    same = nke.Coordinates(np.zeros(dimension), np.ones(dimension), 1.0)
    return TransitionSample(data.transitions(), same, None, 0.1)


def diagonal(*entries):
    """A diagonal factor of functions of the state."""
    return lambda x: np.stack([entry(x) for entry in entries], axis=1)[:, :, None] * np.eye(len(entries))


def sine(x):
    """Fast enough that no cubic does, and ten standard errors of the mean velocity of a tenth of the states."""
    return 3 * np.sin(2 * x)


def noise_of(x):
    return 0.4 * np.exp(0.6 * np.sin(x[:, 0]))


@pytest.fixture(scope="module")
def varying() -> tuple[TransitionSample, SmoothRegression]:
    """dx = 3 sin 2x dt + 0.4 exp(0.6 sin x) dW."""
    sample = transitions(sine, diagonal(noise_of))
    return sample, SmoothRegression.of(sample, np.ones(COUNT), degree=3, seed=0)


def effective_parameters(found: Functions, x: np.ndarray, weight: np.ndarray) -> float:
    """The trace of (H + Λ)⁻¹H of a function whose squared error at each state counts with a weight."""
    design, groups = found.features.design(x), found.features.groups
    precision = np.append(found.precisions[0], 1e-3)[groups]
    on = np.isfinite(precision)
    H = (design[:, on].T * weight) @ design[:, on]
    return float(np.trace(np.linalg.solve(H + np.diag(precision[on]), H)))


def most_error(effective: float) -> float:
    """Four standard deviations above the mean of χ² with as many degrees of freedom."""
    return effective + 4 * np.sqrt(2 * effective)


class TestVaryingNoise:
    def test_the_drift_is_found(self, varying):
        """Σ s (f̂ − f)²/a over the data is as large as the effective number of parameters."""
        sample, found = varying
        x, weight = sample.x, STEP / noise_of(sample.x) ** 2
        drift = found.speed * found.drift(x)
        error = np.sum(weight * (drift - sine(x))[:, 0] ** 2)
        effective = effective_parameters(found.drift, x, weight * found.speed**2)
        assert 5 < effective < 40
        assert error < most_error(effective)
        assert np.sum(weight * sine(x)[:, 0] ** 2) > 10 * most_error(effective)  # of no drift at all

    def test_the_noise_is_found(self, varying):
        """Σ 2 (η̂ − log g)²: the information about a log standard deviation is two."""
        sample, found = varying
        x = sample.x
        ratio = np.log(found.noise_deviation(x)[:, 0] / noise_of(x))
        effective = effective_parameters(found.noise, x, np.full(COUNT, 2.0))
        assert 2 < effective < 30
        assert np.sum(2 * ratio**2) < most_error(effective)
        assert found.state_dependent_noise

    def test_what_is_left_is_the_noise(self, varying):
        """Of mean zero and of the stated deviation, in four standard errors."""
        sample, found = varying
        white = found.residual[:, 0] / np.sqrt(STEP) / noise_of(sample.x)
        assert abs(white.mean()) < 4 / np.sqrt(COUNT)
        assert abs(np.mean(white**2) - 1) < 4 * np.sqrt(2 / COUNT) + most_error(40) / COUNT

    def test_kernels_gain_evidence_over_powers(self, varying):
        """No cubic follows a sine over two periods: least squares leave more than half of it."""
        sample, found = varying
        x, true = sample.x[:, 0], sine(sample.x)[:, 0]
        left = np.polynomial.Polynomial.fit(x, true, 3)(x) - true
        lost = np.sum(STEP * (left / noise_of(sample.x)) ** 2) / 2
        assert lost / 2 < found.kernel_gain < 2 * lost


class TestConstantNoise:
    @pytest.fixture(scope="class")
    @staticmethod
    def found() -> SmoothRegression:
        sample = transitions(lambda x: -x, diagonal(lambda x: np.full(len(x), 0.7)), seed=1)
        return SmoothRegression.of(sample, np.ones(COUNT), degree=3, seed=0)

    def test_is_recognised(self, found):
        assert not found.state_dependent_noise
        assert not np.isfinite(found.noise.precisions).any()
        deviation = found.noise_deviation(np.linspace(-3, 3, 7)[:, None])
        assert np.ptp(deviation) == 0
        assert abs(deviation[0, 0] - 0.7) < 4 * 0.7 / np.sqrt(2 * COUNT)

    def test_a_linear_drift_needs_no_kernels(self, found):
        assert found.drift.features.kernels == ()
        assert found.kernel_gain < 2
        slope = found.speed[0] * found.drift.weights[0, 1]
        assert abs(slope + 1) < 4 * 0.7 / np.sqrt(3 * STEP * COUNT) + STEP  # x has a variance of 3

    def test_is_kept_where_it_is_asked_for(self, varying):
        sample, _ = varying
        found = SmoothRegression.of(sample, np.ones(COUNT), degree=3, seed=0, constant_noise=True)
        assert not found.state_dependent_noise
        white = found.residual[:, 0] / np.sqrt(STEP)
        assert found.start[0, 0] == pytest.approx(np.sqrt(np.mean(white**2)), rel=0.01)


def test_noise_that_is_correlated_where_the_state_says_so():
    """g = [[1, 0], [0.8 tanh 2x, 0.6]] in the plane.

    g₂₁ is the mean of w₂ε₁ = g₂₁ε₁² + g₂₂ε₁ε₂, whose variance is 2 g₂₁² + g₂₂², and a deviation g that of |ε|:
    for each of some thirty effective parameters the mean squared errors are these, or g²/2, over the number of
    transitions.
    """

    def factor(x):
        g = np.zeros((len(x), 2, 2))
        g[:, 0, 0], g[:, 1, 1], g[:, 1, 0] = 1.0, 0.6, 0.8 * np.tanh(2 * x[:, 0])
        return g

    sample = transitions(lambda x: -x, factor, dimension=2, seed=4)
    found = SmoothRegression.of(sample, np.ones(COUNT), degree=1, seed=0)
    x, truth = sample.x, factor(sample.x)
    lower = np.zeros_like(truth)
    lower[:, [0, 1, 1], [0, 0, 1]] = found.noise(x)
    lower[:, [0, 1], [0, 1]] = np.exp(lower[:, [0, 1], [0, 1]])
    g = found.start @ lower
    np.testing.assert_allclose(found.noise_deviation(x), np.linalg.norm(g, axis=-1), rtol=1e-9)
    error, most = np.mean((g - truth) ** 2, axis=0), most_error(30) / COUNT
    assert error[1, 0] < np.mean(2 * truth[:, 1, 0] ** 2 + 0.6**2) * most < 0.05 * np.mean(truth[:, 1, 0] ** 2)
    assert error[0, 0] < most / 2
    assert error[1, 1] < 0.6**2 * most / 2 + error[1, 0]


def test_jumps_do_not_count_as_noise():
    """Steps that held a jump are left out: the noise is that of the others."""
    jumped = np.random.default_rng(5).random(COUNT) < 0.1
    sample = transitions(lambda x: -x, diagonal(lambda x: np.full(len(x), 0.7)), seed=6, jumped=jumped)
    found = SmoothRegression.of(sample, 1.0 - jumped, degree=1, seed=0)
    deviation = found.noise_deviation(np.zeros((1, 1)))[0, 0]
    assert abs(deviation - 0.7) < 4 * 0.7 / np.sqrt(2 * (~jumped).sum())
    assert not found.state_dependent_noise


def test_log_densities_are_those_of_the_transition():
    """Ornstein–Uhlenbeck, known exactly: the regression is ahead by about half of its parameters, at a coarse step."""
    system, step = nke.systems.OrnsteinUhlenbeck(), 0.3
    data = system.simulate(200, seed=3, times=np.arange(0, 6, step))
    coordinates = nke.Coordinates.zscore(data)
    sample = TransitionSample(data.transitions(), coordinates, None, 0.05)
    found = SmoothRegression.of(sample, np.ones(len(sample.x)), 1, 0)
    some = data.transitions()
    gap = coordinates.log_density_back(found.log_densities(sample)) - np.asarray(
        system.log_prob(some.y, given=some.x, step=some.step)
    )
    assert abs(gap.sum()) < 4 * np.sqrt(len(gap)) * gap.std() + 5
    assert abs(gap.mean()) < 2e-3
