"""The score test for lack of fit: chance under the true law, power under others, the size of the gain."""

import numpy as np
import pytest

from drawn_steps import drawn_steps, linear, polynomial
from nke.fitting import SelectionRules, Steps
from nke.fitting.newton import Newton
from nke.fitting.polynomial_parameters import PolynomialParameters
from nke.fitting.score_test import ScoreTest, cells, score_test
from nke.operators import EulerMaruyamaRule

RULES = SelectionRules()


def lack_of_fit(data: Steps, jumps: bool = False) -> dict[str, ScoreTest]:
    """Of drift, noise and jumps of a linear law at its maximum likelihood."""
    law = PolynomialParameters.of(polynomial(jumps=jumps), np.zeros(2), RULES.origin_distance)
    scores = Newton().run(EulerMaruyamaRule(), law.vector, data).parameters.scores(EulerMaruyamaRule(), data)
    informative = {"jumps": 0.1}
    return {
        g.name: score_test(
            scores[:, g.places], np.asarray(data.x), RULES, g.name != "drift", informative.get(g.name, 1.0)
        )
        for g in law.groups()
    }


def test_is_chance_under_the_true_law():
    """Twelve data sets: the mean of the nats, in their own standard deviations, is 0 ± 1/√12."""
    tests = [lack_of_fit(drawn_steps(linear, count=8000, seed=seed)) for seed in range(12)]
    for name in ("drift", "noise"):
        z = [one[name].nats / one[name].chance for one in tests]
        # Fitted parameters take a part away: 6 of 128 degrees of freedom, which is −0.4 standard deviations.
        assert -0.4 - 4 / np.sqrt(12) < np.mean(z) < 4 / np.sqrt(12), (name, z)
        assert all(one[name].passed for one in tests)


def test_sees_a_drift_that_is_not_linear():
    found = lack_of_fit(drawn_steps(lambda x: np.sin(2 * x)))
    assert not found["drift"].passed
    assert found["noise"].passed


def test_sees_noise_that_depends_on_the_state():
    found = lack_of_fit(drawn_steps(linear, noise=lambda x: 1 + 0.3 * np.tanh(x)))
    assert found["drift"].passed
    assert not found["noise"].passed


def test_sees_a_rate_of_jumps_that_depends_on_the_state():
    follows, same = (
        drawn_steps(linear, jump_chance=chance) for chance in (lambda x: 0.2 * (x[:, 0] > 0), lambda x: 0.1)
    )
    assert not lack_of_fit(follows, jumps=True)["jumps"].passed
    assert lack_of_fit(same, jumps=True)["jumps"].passed


def test_tells_how_many_nats_a_richer_law_gains():
    """Variances of 1 ± 0.15 on the two sides of a line: the exact gain over one for both is 910 nats."""
    data = drawn_steps(lambda x: 0 * x, noise=lambda x: np.sqrt(1 + 0.15 * np.sign(x[:, :1])), count=80_000)
    exact = -len(data.x) * np.log(1 - 0.15**2) / 2
    # Of a χ² of 192 degrees of freedom, half of it, displaced by the gain; and about 7 % for the quadratic.
    error = np.sqrt((192 + 4 * exact) / 2)
    assert abs(lack_of_fit(data)["noise"].nats - exact) < 4 * error + 0.07 * exact


@pytest.mark.parametrize("count", [50, 1000, 30_000])
def test_cells_hold_every_state_once_and_are_alike(count):
    parts = cells(np.random.default_rng(0).normal(size=(count, 3)), RULES)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(count))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 6
    assert min(sizes) >= min(RULES.score_test_transitions, count)


def test_the_limit_is_that_of_the_rules():
    found = score_test(np.zeros((400, 1)), np.zeros((400, 1)), RULES, same_information=True)
    assert found.limit == RULES.lack_of_fit_nats + RULES.lack_of_fit_deviations * found.chance
    assert found.estimate == (found.nats, found.chance)


def test_equal_states_are_divided_whatever_their_order():
    """States rounded to ten values, recorded in the order of their motions, under a law that is right.

    Cells that cut through equal states in that order would hold small motions on one side and large ones on the other.
    """
    rng = np.random.default_rng(0)
    motion = np.sort(np.abs(rng.normal(size=8000)))
    scores, x = motion[:, None] - motion.mean(), rng.integers(0, 10, (8000, 1)).astype(float)
    found = score_test(scores, x, RULES, same_information=True)
    assert abs(found.nats) < 4 * found.chance
