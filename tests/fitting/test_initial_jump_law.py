"""The first law of a jump: how many Gaussians, whether their shapes depend on the state, the order of the series."""

import numpy as np
import pytest
from scipy.stats import poisson

import nke
from nke.data import Coordinates
from nke.fitting import SelectionRules
from nke.fitting.initial_jump_law import initial_jump_law, series_order, share_explained_by_state
from nke.fitting.initial_moments import moments_with_jumps
from nke.mixtures import GaussianMixture
from nke.systems import BimodalJumps, DoubleWell

RULES = SelectionRules()


def law_of(data: nke.Trajectories, components: int | None) -> GaussianMixture | None:
    seen, to = data.transitions(), Coordinates.zscore(data)
    moved, step = to.displacement_to(seen.displacement), to.step_to(seen.step)
    return initial_jump_law(moments_with_jumps(moved, step), moved, step, components, 0, RULES)


def test_as_many_gaussians_as_the_jumps_have():
    for system, components in ((BimodalJumps(), 2), (DoubleWell(dimension=1), 1)):
        law = law_of(system.simulate(256, seed=2), None)
        assert law is not None
        assert law.components == components


def test_too_few_jumps_to_tell():
    assert law_of(DoubleWell().simulate(1, seed=2), 4) is None


@pytest.mark.parametrize(("pull", "stretch", "follows"), [(0.0, 0.0, False), (0.5, 0.0, True), (0.0, 0.5, True)])
def test_jumps_that_follow_the_state_are_noticed(pull, stretch, follows):
    rng = np.random.default_rng(0)
    x, jumped = rng.standard_normal((4000, 2)), (rng.random(4000) < 0.3).astype(float)
    jump = -pull * x + np.exp(stretch * x[:, :1]) * rng.standard_normal((4000, 2))
    moved = jumped[:, None] * jump + 0.01 * rng.standard_normal((4000, 2))
    law = GaussianMixture.fit(moved[jumped > 0], 1)
    share, chance = share_explained_by_state(law, moved, jumped, x, RULES.state_dependent_deviations)
    assert (share > max(chance, RULES.state_dependent_share)) == follows
    if pull:
        assert share == pytest.approx(pull**2 / (1 + pull**2), abs=0.04)


@pytest.mark.parametrize("expected", [1e-3, 0.05, 0.2, 0.6])
def test_series_order_follows_the_expected_number_of_jumps(expected):
    order = series_order(expected, 1, RULES)
    assert poisson.sf(order, expected) <= RULES.neglected_jumps or order == 4
    assert order == 1 or poisson.sf(order - 1, expected) > RULES.neglected_jumps


def test_series_order_keeps_the_number_of_terms_down():
    assert series_order(0.6, 4, RULES) == 2
    assert series_order(0.6, 16, RULES) == 1
