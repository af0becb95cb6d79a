"""Coordinates that are suggested: where plain ones lead out of bounds, and others predict no worse."""

import numpy as np
import pytest

from nke.data import Trajectories
from nke.fitting import SelectionRules
from nke.fitting.coordinate_hints import coordinate_hints

RULES = SelectionRules()
MANY, NONE = [2000.0, 2000.0], [0.0, 0.0]  # of 5120 steps beyond the ends


def wandering() -> np.ndarray:
    """Ornstein–Uhlenbeck paths of deviation two: their logistic function comes close to zero and one."""
    rng, u, path = np.random.default_rng(0), 2 * np.random.default_rng(1).normal(size=(64, 1)), []
    for _ in range(81):
        path.append(u)
        u = 0.9 * u + 0.9 * rng.normal(size=u.shape)
    return np.stack(path, axis=1)


def reflected() -> np.ndarray:
    """Brownian paths between walls at zero and one."""
    rng, x, path = np.random.default_rng(0), np.full((64, 1), 0.5), []
    for _ in range(161):
        path.append(x)
        x = 1 - np.abs(1 - np.abs(x + 0.05 * rng.normal(size=x.shape)))
    return np.stack(path, axis=1)


def hints(states, crossings, fixed=()):
    names = ["share", "part"][: states.shape[-1]]
    return coordinate_hints(Trajectories(states, 0.1, names=names), np.array(crossings), fixed, 0, RULES)


@pytest.mark.parametrize(("scale", "shift", "bounds"), [(1, 0, "(0, 1)"), (100, 0, "(0, 100)"), (2, -1, "(-1, 1)")])
def test_a_share_stays_between_its_bounds(scale, shift, bounds):
    [hint] = hints(shift + scale / (1 + np.exp(-wandering())), [MANY])
    ends = bounds.strip("()").replace(",", " and")
    assert hint.answer == (
        f"share stays between {ends}: bounds={{'share': {bounds}}} would keep simulated states there"
    )
    assert hint.evidence["share"]["gain of the logit in nats per transition"].value > 0.1


def test_several_columns_are_one_line():
    share = 1 / (1 + np.exp(-wandering()))
    [hint] = hints(np.concatenate([share, 1 - share], axis=-1), [MANY, MANY])
    assert hint.answer.startswith("share, part stay within bounds: bounds={'share': (0, 1), 'part': (0, 1)} would")


def test_a_column_that_is_positive():
    [hint] = hints(np.exp(wandering()), [[2000.0, 0.0]])
    assert hint.answer == "share stays positive: positive=['share'] would keep simulated states so"


def test_no_hint_where_nothing_is_crossed_or_gained_or_it_is_known():
    share = 1 / (1 + np.exp(-wandering()))
    assert hints(share, [NONE]) == []
    assert hints(share, [[np.nan, np.nan]]) == []
    assert hints(share, [MANY], {"share"}) == []
    assert hints(np.exp(wandering()), [[10.0, 0.0]]) == []  # zero is crossed now and then: a border does
    assert hints(5 * share, [MANY]) == []  # nobody knows that the bound is five
    assert hints(reflected(), [MANY]) == []  # a logit predicts worse
