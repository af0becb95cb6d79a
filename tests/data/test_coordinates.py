"""Coordinates: round trips, and coefficients against closed forms of a linear equation."""

import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nke.data import Coordinates, Trajectories
from recorded_states import X1, X3, random_states

NAN, INF = np.nan, np.inf


SCALES = st.floats(-12, 12).map(lambda exponent: 10.0**exponent)


@settings(deadline=None)
@given(
    arrays(np.float64, (4, 2), elements=st.floats(-1e3, 1e3)),
    arrays(np.float64, 2, elements=st.floats(-1e3, 1e3)),
    arrays(np.float64, 2, elements=SCALES),
    SCALES,
)
def test_coordinates_round_trip(z, shift, scale, time_unit):
    coordinates = Coordinates(shift * scale, scale, time_unit)
    x = coordinates.back(z)
    size = np.abs(x) + np.abs(coordinates.shift) + scale
    assert np.all(np.abs(coordinates.back(coordinates.to(x)) - x) <= 1e-12 * size)
    assert np.all(np.abs(coordinates.to(x) - z) <= 1e-12 * size / scale)
    moved = coordinates.displacement_to(x - x[0])
    assert np.all(np.abs(moved - (coordinates.to(x) - coordinates.to(x[0]))) <= 1e-12 * size / scale)


def test_drift_and_diffusion_against_a_linear_equation():
    """dX = A(X − m)dt + B dW: its flow and covariance, seen in (z, τ), give back A(x − m) and B Bᵀ."""
    A, m = np.array([[-2.0, 0.7], [0.3, -0.5]]), np.array([3.0, -1.0])
    B = np.array([[0.8, 0.0], [0.5, 0.2]])
    stationary = scipy.linalg.solve_continuous_lyapunov(A, -B @ B.T)
    coordinates = Coordinates(np.array([2.0, 5.0]), np.array([1e-3, 40.0]), 0.2)
    x = random_states(6, 2)

    def mean(tau: float):
        return coordinates.to(m + (x - m) @ scipy.linalg.expm(A * tau * coordinates.time_unit).T)

    def covariance(tau: float):
        flow = scipy.linalg.expm(A * tau * coordinates.time_unit)
        in_x = stationary - flow @ stationary @ flow.T
        return coordinates.displacement_to(coordinates.displacement_to(in_x).T)

    h = 1e-4
    drift_z, diffusion_z = (mean(h) - mean(-h)) / (2 * h), (covariance(h) - covariance(-h)) / (2 * h)
    np.testing.assert_allclose(coordinates.drift_back(drift_z), (x - m) @ A.T, rtol=1e-6)
    np.testing.assert_allclose(coordinates.diffusion_back(diffusion_z), B @ B.T, rtol=1e-6)
    batch = np.broadcast_to(diffusion_z, (3, 2, 2))
    np.testing.assert_allclose(coordinates.diffusion_back(batch)[2], B @ B.T, rtol=1e-6)


def test_rates_steps_and_densities():
    coordinates = Coordinates(np.array([2.0, 5.0]), np.array([1e-3, 40.0]), 0.2)
    # The number of jumps expected in a step does not depend on the units of time.
    rate_z, step = 1.7, np.array([0.1, 0.4])
    np.testing.assert_allclose(coordinates.rate_back(rate_z) * step, rate_z * coordinates.step_to(step))
    assert coordinates.step_to(0.4) == pytest.approx(2.0)
    covariance_z, x = np.array([[1.0, 0.3], [0.3, 2.0]]), np.array([[2.0005, 30.0], [1.999, -10.0]])
    in_x = scipy.stats.multivariate_normal(coordinates.shift, covariance_z * np.outer(*[coordinates.scale] * 2))
    in_z = scipy.stats.multivariate_normal(np.zeros(2), covariance_z)
    np.testing.assert_allclose(coordinates.log_density_back(in_z.logpdf(coordinates.to(x))), in_x.logpdf(x), rtol=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 1000), SCALES, SCALES, st.floats(-1e3, 1e3))
def test_zscore_has_mean_zero_deviation_one_and_speed_one(seed, scale, time_scale, offset):
    states = scale * (offset + random_states(3, 20, 2, seed=seed))
    states[0, 3, 1] = NAN
    data = Trajectories(states, 0.1 * time_scale)
    coordinates = Coordinates.zscore(data)
    z = coordinates.to(states[data.observed])
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-11)
    np.testing.assert_allclose(z.std(axis=0), 1, rtol=1e-11)
    transitions = data.transitions()
    displacement = coordinates.displacement_to(transitions.displacement)
    typical_step = np.median(coordinates.step_to(transitions.step))
    assert np.sqrt(np.mean(displacement**2)) / typical_step == pytest.approx(1, rel=1e-9)


def test_raw_coordinates_scale_time_only():
    data = Trajectories(100 * X3, 0.1)
    coordinates = Coordinates.raw(data)
    np.testing.assert_array_equal(coordinates.to(X3), X3)
    motion = np.sqrt(np.mean(np.diff(100 * X3, axis=1) ** 2))
    assert coordinates.time_unit == pytest.approx(0.1 / motion)


@pytest.mark.parametrize(("value", "scale"), [(0.0, 1.0), (5.0, 5.0), (-1e12, 1e12), (1e-12, 1e-12), (0.1, 0.1)])
def test_a_constant_coordinate_is_named_and_scaled_by_its_size(value, scale):
    states = np.stack([X1, np.full(5, value)], axis=1)
    states[2, 1] = np.nextafter(value, INF) if value else value
    data = Trajectories(states, 0.1, names=["moving", "still"])
    with pytest.warns(UserWarning, match="'still' is constant"):
        coordinates = Coordinates.zscore(data)
    assert coordinates.scale[1] == pytest.approx(scale)
    assert coordinates.time_unit == pytest.approx(0.1 * X1.std() / np.sqrt(np.mean(np.diff(X1) ** 2)))


def test_small_motion_on_a_large_offset_is_not_constant():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coordinates = Coordinates.zscore(Trajectories(1e9 + 1e-3 * X1, 0.1))
    assert coordinates.scale[0] == pytest.approx(1e-3 * X1.std(), rel=1e-3)


def test_time_unit_is_the_step_when_nothing_moves():
    data = Trajectories(np.full(5, 3.0), [0.0, 0.1, 0.3, 0.5, 5.0])
    assert Coordinates.raw(data).time_unit == pytest.approx(0.2)
    with pytest.warns(UserWarning, match="constant"):
        assert Coordinates.zscore(data).time_unit == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("shift", "scale", "time_unit", "message"),
    [
        ([0.0], [0.0], 1.0, "positive finite scales, but got"),
        ([0.0], [-1.0], 1.0, "positive finite scales, but got"),
        ([0.0], [NAN], 1.0, "positive finite scales, but got"),
        ([INF], [1.0], 1.0, "finite shift, but got"),
        ([0.0], [1.0], 0.0, "positive finite time_unit, but got 0.0"),
        ([0.0], [1.0], INF, "positive finite time_unit, but got inf"),
    ],
)
def test_coordinates_are_checked(shift, scale, time_unit, message):
    with pytest.raises(ValueError, match=message):
        Coordinates(np.array(shift), np.array(scale), time_unit)


@pytest.mark.parametrize(("shift", "scale"), [(np.zeros(2), np.ones(1)), (np.zeros((1, 1)), np.ones((1, 1)))])
def test_shapes_of_coordinates_are_checked(shift, scale):
    with pytest.raises((ValueError, TypeError)):  # TypeError where annotations are enforced
        Coordinates(shift, scale, 1.0)


def test_coordinates_own_their_arrays():
    scale = np.ones(2)
    coordinates = Coordinates(np.zeros(2), scale, 1.0)
    scale[:] = 5
    np.testing.assert_array_equal(coordinates.scale, 1)
    with pytest.raises(ValueError, match="read-only"):
        coordinates.scale[0] = 2
    assert coordinates.dimension == 2
