"""The parameters of a polynomial law: which the data supports, standard errors, what powers are counted from."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from drawn_steps import STEP, drawn_steps, linear, polynomial
from nke.data import Coordinates
from nke.fitting import SelectionRules, Steps, Term
from nke.fitting.least_squares import polynomial_drift
from nke.fitting.newton import Newton, Sums, inverse_information
from nke.fitting.polynomial_parameters import PolynomialParameters
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    EulerMaruyamaRule,
    Fixed,
    Generator,
    KinematicConstraint,
    RelativeFactor,
    monomials,
)

RULE, RULES = EulerMaruyamaRule(), SelectionRules()
PLANE = nke.Trajectories(np.random.default_rng(0).normal(size=(4, 2)), STEP, names=["x", "y"])
AS_THEY_ARE = Coordinates(np.zeros(2), np.ones(2), 1.0)


def collected(generator: Generator, zero=(0.0, 0.0), **options) -> PolynomialParameters:
    return PolynomialParameters.of(generator, np.array(zero), RULES.origin_distance, **options)


def maximised(law: PolynomialParameters, data: Steps) -> tuple[PolynomialParameters, Sums]:
    found = Newton().run(RULE, law.vector, data)
    return replace(law, vector=found.parameters), found.evidence


def supported(law: PolynomialParameters, data: Steps) -> tuple[PolynomialParameters, Sums]:
    """At the maximum without what the data does not support."""
    law, sums = maximised(law, data)
    return maximised(law.supported(sums.information, len(data.step)), data)


def terms(law: PolynomialParameters, sums: Sums) -> list[tuple[Term, ...]]:
    return list(law.equation(sums.information, PLANE, AS_THEY_ARE, None).drift.values())


@pytest.fixture(scope="module")
def steps() -> Steps:
    return drawn_steps(linear)


class TestMaximum:
    def test_of_the_drift_alone_is_least_squares_weighed_by_the_noise(self):
        """Closed form, coordinate by coordinate: the noise stays as it is, also where it depends on the state."""
        begin = polynomial(2)
        sizes = {"origin": jnp.zeros(2), "size": jnp.full(2, 0.5), "noisy": None}
        noise = RelativeFactor(jnp.eye(2), 0, 0, **sizes, key=jax.random.key(0))
        begin = eqx.tree_at(lambda g: g.diffusion.factor, begin, noise)
        data = drawn_steps(linear, noise=lambda x: np.sqrt(0.25 + x**2))
        law, _ = maximised(collected(begin, only_drift=True), data)
        assert [group.name for group in law.groups()] == ["drift"]
        x, velocity = np.asarray(data.x, np.float64), np.asarray(data.displacement, np.float64) / STEP
        for old, new in zip(jax.tree.leaves(begin.diffusion), jax.tree.leaves(law.generator.diffusion), strict=True):
            np.testing.assert_array_equal(new, old)
        spread = np.asarray(jax.vmap(lambda x: noise(x) @ noise(x).T)(data.x))
        columns = np.concatenate([np.ones((len(x), 1)), np.asarray(monomials(x, 2))], axis=1)
        for k in range(2):
            root = 1 / np.sqrt(spread[:, k, k])
            expected = np.linalg.lstsq(root[:, None] * columns, root * velocity[:, k], rcond=None)[0]
            skip = law.generator.drift_network.body.skip
            found = 2 * np.concatenate([[skip.bias[k]], skip.weight[k]])
            np.testing.assert_allclose(found, expected, atol=5e-3)  # a step that gains less than 0.02 nats is not taken

    def test_coefficients_and_errors_are_those_of_least_squares(self, steps):
        """Closed form for linear drift and constant noise."""
        rows = terms(*maximised(collected(polynomial()), steps))
        columns = np.concatenate([np.ones((len(steps.x), 1)), steps.x], axis=1)
        velocity = np.asarray(steps.displacement) / STEP
        exact = np.linalg.lstsq(columns, velocity, rcond=None)[0]
        a = STEP * ((velocity - columns @ exact) ** 2).mean(axis=0)
        errors = np.sqrt(np.linalg.inv(columns.T @ columns).diagonal()[:, None] * a / STEP)
        found, reported = (
            np.array([[getattr(t, side) for t in row] for row in rows]).T for side in ("coefficient", "error")
        )
        assert (np.abs(found - exact) < 0.05 * errors).all()
        # The information is a mean over 20,000 products of fourth moments: 2 % and more.
        np.testing.assert_allclose(reported, errors, rtol=0.06)


class TestOrigin:
    def test_powers_are_counted_from_the_users_zero(self):
        """The same function of the state, whatever is called zero: and its powers about that zero are found."""
        origin = np.array([0.7, -1.3])
        data = drawn_steps(lambda x: -((x - origin) ** 3))
        velocity = np.asarray(data.displacement) / STEP
        start = polynomial_drift(np.asarray(monomials(data.x, 3)), velocity, np.ones_like(velocity))
        begin = polynomial(3)
        drift = begin.drift_network.starting_from(*map(jnp.asarray, start))
        law, sums = supported(collected(eqx.tree_at(lambda g: g.advection.drift, begin, drift), origin), data)
        rows = terms(law, sums)
        assert [[t.variables for t in row] for row in rows] == [[("x",) * 3], [("y",) * 3]]
        for row in rows:
            assert abs(row[0].coefficient + 1) < 4 * row[0].error
        x = jnp.array([0.4, 0.9])
        np.testing.assert_allclose(law.generator.advection.drift(x), -((x - origin) ** 3), rtol=0.05)

    def test_a_zero_far_from_the_data_is_not_counted_from(self):
        law = collected(polynomial(3), [1e4, 0.0])
        assert not law.from_zero
        assert law.vector.to_arrays is None  # the vector is the arrays


class TestSupported:
    def test_what_the_data_does_not_support_is_dropped(self, steps):
        """Of six coefficients two are zero; the others are 10 standard errors and more."""
        law, sums = supported(collected(polynomial()), steps)
        assert [[t.variables for t in row] for row in terms(law, sums)] == [[(), ("x",), ("y",)], [("y",)]]
        assert law.count == 4 + 2  # and two volatilities: the correlation is dropped too

    @pytest.mark.parametrize(
        ("slopes", "kept"),
        [
            ([[-0.02, 1.0], [-1.0, -0.02]], True),  # a rotation: each drives the other
            ([[0.02, 1.0], [-1.0, 0.02]], False),  # it would grow
            ([[-0.01, 1.0], [-1.0, -0.01]], False),  # one standard error
            ([[-0.02, 1.0], [0.0, -0.02]], False),  # no loop: the second is a random walk
        ],
    )
    def test_damping_of_two_errors_is_kept_where_nothing_else_damps(self, slopes, kept):
        """Quadratic likelihood with errors of 0.01; log(5000) asks for 2.9 of them elsewhere."""
        law = collected(polynomial())
        places = law.vector.places.advection.drift.body.skip
        values = np.zeros_like(law.vector.values)
        values[places.weight.astype(int)] = slopes
        law = replace(law, vector=replace(law.vector, values=values))
        active = law.supported(np.eye(len(values)) / 0.01**2, 5000).vector.active
        assert active[np.diag(places.weight.astype(int))].tolist() == [kept, kept]

    def test_damping_of_a_velocity_that_its_position_drives(self):
        """The same for an oscillator whose position is known to be that of its velocity."""
        one, key = Fixed(jnp.ones(1)), jax.random.key(0)
        constraint = KinematicConstraint((0,), (1,), (), 2, one, one)
        drift, noise = DriftNetwork(jnp.ones(1), 0, 0, 1, inputs=2, key=key), ConstantFactor(jnp.eye(1), key=key)
        law = collected(Generator.of_free(Advection(drift), Diffusion(noise), None, constraint))
        (weight,) = law.vector.places.drift_network.body.skip.weight.astype(int)
        values = np.zeros_like(law.vector.values)
        values[weight] = [-1.0, -0.02]
        law = replace(law, vector=replace(law.vector, values=values))
        active = law.supported(np.eye(len(values)) / 0.01**2, 5000).vector.active
        assert active[weight].tolist() == [True, True]

    def test_dropping_keeps_the_restricted_maximum(self, steps):
        """Newton's method after the quadratic guess of it moves by a small part of a standard error."""
        law, sums = maximised(collected(polynomial()), steps)
        guess = law.supported(sums.information, len(steps.step))
        on, found = guess.vector.active, maximised(guess, steps)[0]
        errors = np.sqrt(np.diag(inverse_information(sums.information[np.ix_(on, on)])))
        assert (np.abs(found.vector.values - guess.vector.values)[on] < 0.1 * errors).all()

    def test_jumps_of_mean_zero_keep_it(self):
        data = drawn_steps(linear, jump_chance=lambda x: 0.1)
        law, _ = supported(collected(polynomial(jumps=True)), data)
        rate, jump = law.generator.jump.measure(jnp.zeros(2))
        assert not np.asarray(jump.means).any()
        # 1 − e^{−λs} = 0.1; 2,000 jumps, a little of whose number is known from their size only.
        assert abs(float(rate) * STEP / -np.log(0.9) - 1) < 4 / np.sqrt(2000)
        assert [group.name for group in law.groups()] == ["drift", "noise", "jumps"]
