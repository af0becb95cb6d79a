"""Transforms of a column: there and back, derivatives, slopes and displacements that agree with each other."""

import json

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from nke.data import Coordinates, Trajectories
from nke.data.transforms import Log, Logit, Periodic, Plain, from_configuration
from nke.errors import InputError

X = np.array([0.2, 1.0, 1.7, 2.9])
TRANSFORMS = [Plain(), Log(), Logit(-0.5, 3.5), Periodic(7.0), Periodic(7.0, start=0.0)]
every_transform = pytest.mark.parametrize("transform", TRANSFORMS, ids=str)


@every_transform
def test_there_and_back(transform):
    np.testing.assert_allclose(transform.back(transform.to(X)), X, rtol=1e-13)


@every_transform
def test_derivatives_by_differences(transform):
    u, h = transform.to(X), 1e-4
    ahead, behind = transform.back(u + h), transform.back(u - h)
    np.testing.assert_allclose(transform.first(u), (ahead - behind) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(transform.second(u), (ahead - 2 * X + behind) / h**2, atol=1e-6)
    np.testing.assert_allclose(np.exp(-transform.log_slope(X)), transform.first(u), rtol=1e-12)


@every_transform
def test_displacement(transform):
    """The difference of two states, and the first order of it for a motion far below rounding of the states."""
    np.testing.assert_allclose(transform.displacement(0.1, X), transform.to(X + 0.1) - transform.to(X), rtol=1e-12)
    tiny = transform.displacement(1e-20, X)
    np.testing.assert_allclose(tiny, 1e-20 / transform.first(transform.to(X)), rtol=1e-12)


@every_transform
def test_means_of_a_gaussian_displacement(transform):
    """Against adaptive quadrature; an angle that is wrapped moves on without being wrapped."""
    mean, deviation = 0.3, 0.4
    back = (lambda u: u) if transform.affine else transform.back

    def expected(function, x):
        density = lambda d: function(transform.to(x) + d) * norm.pdf(d, mean, deviation)  # noqa: E731
        return quad(density, mean - 9 * deviation, mean + 9 * deviation, epsabs=1e-12)[0]

    moved, slope = transform.mean_displacement(X, mean, deviation**2), transform.mean_first(X, mean, deviation**2)
    np.testing.assert_allclose(moved, [expected(back, x) - x for x in X], atol=1e-9)
    np.testing.assert_allclose(slope, [expected(transform.first, x) for x in X], atol=1e-9)


@every_transform
def test_configuration_round_trip(transform):
    assert from_configuration(json.loads(json.dumps(transform.configuration()))) == transform


def test_unknown_kind():
    with pytest.raises(InputError, match="one of plain, log, logit, periodic, but got 'square'"):
        from_configuration({"kind": "square"})


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf)])
def test_bounds_are_checked(bounds):
    with pytest.raises(InputError, match="lower < upper"):
        Logit(*bounds)


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan])
def test_period_is_checked(period):
    with pytest.raises(InputError, match="positive finite period"):
        Periodic(period)


def test_values_far_out_stay_within_bounds():
    x = Logit(0.0, 1.0).back([-1e3, 1e3])
    assert (x > 0).all()
    assert (x < 1).all()


class TestCoordinates:
    COORDINATES = Coordinates([0.1, 0.2], [0.5, 2.0], 0.25, [Log(), Logit(0.0, 4.0)])

    def test_there_and_back(self):
        states = np.stack([X, X[::-1]], axis=1)
        z = self.COORDINATES.to(states)
        np.testing.assert_allclose(z[:, 0], (np.log(X) - 0.1) / 0.5)
        np.testing.assert_allclose(self.COORDINATES.back(z), states, rtol=1e-13)

    def test_ito_terms_by_the_generator_of_z(self):
        """L g for g(z) = x: f·∇g + ½ a:∇∇g, the derivatives by differences."""
        z, f, h = np.array([0.3, -0.4]), np.array([0.7, -0.2]), 1e-4
        root = np.array([[0.5, 0.0], [0.3, 0.8]])
        g, unit = self.COORDINATES.back, 0.25
        drift = (g(z + h * f) - g(z - h * f)) / (2 * h)
        drift += sum((g(z + h * b) - 2 * g(z) + g(z - h * b)) / h**2 / 2 for b in root.T)
        found = self.COORDINATES.drift_back(f, g(z), root @ root.T)
        np.testing.assert_allclose(found, drift / unit, rtol=1e-5)
        jacobian = np.stack([(g(z + h * e) - g(z - h * e)) / (2 * h) for e in np.eye(2)], axis=1)
        tensor = self.COORDINATES.diffusion_back(root @ root.T, g(z))
        np.testing.assert_allclose(tensor, jacobian @ root @ root.T @ jacobian.T / unit, rtol=1e-6)

    def test_states_are_needed(self):
        for convert in (self.COORDINATES.drift_back, self.COORDINATES.displacement_to):
            with pytest.raises(InputError, match="pass x="):
                convert([0.0, 0.0])
        with pytest.raises(InputError, match="pass a="):
            self.COORDINATES.drift_back([0.0, 0.0], [1.0, 1.0])

    def test_out_of_the_domain(self):
        with pytest.raises(InputError, match=r"coordinate 1 between 0 and 4.*got 4 at state 1; leave"):
            self.COORDINATES.to([[1.0, 1.0], [1.0, 4.0]])

    def test_one_transform_for_each_coordinate(self):
        with pytest.raises(InputError, match="for each of 2 coordinates"):
            Coordinates([0.0, 0.0], [1.0, 1.0], 1.0, [Log()])

    def test_size_is_the_deviation_of_a_log_normal_law(self):
        found = Coordinates([0.3, 5.0], [0.5, 2.0], 1.0, [Log(), Plain()]).size
        np.testing.assert_allclose(found, [np.exp(0.3 + 0.125) * np.sqrt(np.expm1(0.25)), 2.0], rtol=1e-8)

    def test_turns_of_an_angle(self):
        """States without whole turns are the same in z; what was taken is known."""
        turning = Coordinates([0.0, 0.0], [1.0, 1.0], 1.0, [Periodic(), Plain()])
        states = np.array([[0.5 + 4 * np.pi, 9.0], [0.5, 9.0]])
        z = turning.to(states)
        np.testing.assert_allclose(z, [[0.5, 9.0]] * 2)
        np.testing.assert_allclose(turning.back(z) + turning.turns(states), states)


class TestTransformedTrajectories:
    def test_logarithm_and_names(self):
        data = Trajectories(np.stack([X, X], axis=1), 0.1, names=["a", "b"], units=["m", "s"], unit_of_time="h")
        found = data.transformed([Log(), Plain()])
        assert (found.names, found.units, found.unit_of_time) == (("log a", "b"), ("", "s"), "h")
        np.testing.assert_allclose(found.states[0], np.stack([np.log(X), X], axis=1))

    def test_rows_not_observed_stay_so(self):
        data = Trajectories([[1.0, 1.0], [-1.0, np.nan], [2.0, 1.0]], 0.1)
        found = data.transformed([Log(), Plain()])
        np.testing.assert_array_equal(found.observed, data.observed)
        np.testing.assert_allclose(found.transitions().displacement[:, 0], np.log(2.0))

    @pytest.mark.parametrize("ragged", [False, True])
    def test_wrapped_angles_are_unwrapped_within_each_trajectory(self, ragged):
        rng = np.random.default_rng(0)
        angles = [start + np.cumsum(rng.normal(0.5, 0.3, 50)) for start in (0.0, 2.0, 9.0)]
        angles = [angle[: 50 - 7 * ragged * i] for i, angle in enumerate(angles)]
        wrapped = [np.mod(angle + np.pi, 2 * np.pi) - np.pi for angle in angles]
        wrapped[1][10] = np.nan
        found = Trajectories([a[:, None] for a in wrapped], 0.1).transformed([Periodic(start=-np.pi)])
        for states, angle, first in zip(found.states, angles, wrapped, strict=True):
            truth = angle - angle[0] + first[0]
            np.testing.assert_allclose(states[~np.isnan(states)], truth[~np.isnan(states[:, 0])], atol=1e-12)

    def test_the_place_of_a_value_out_of_the_domain(self):
        data = Trajectories([[[1.0], [2.0]], [[1.0], [-0.5]]], 0.1, names=["u"])
        with pytest.raises(InputError, match=r"expected 'u' greater than 0 .* trajectory 1 has -0\.5 at row 1"):
            data.transformed([Log()])
