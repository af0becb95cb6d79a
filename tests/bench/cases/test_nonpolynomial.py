"""Systems beyond polynomials: run by name, with parametric fits that recover them."""

import pytest

from bench_cells import TINY
from nke.bench.cases.nonpolynomial import CASES
from nke.bench.protocol import cases
from nke.bench.runner import plan

FITTED = {
    "repressilator": ("strength", "exponent", "volume"),
    "predator-prey": ("growth", "half_saturation", "mortality", "noise"),
    "pendulum": ("torque", "damping", "noise"),
    "periodic-potential": ("strength", "noise", "rate", "jump_mean", "jump_scale"),
    "phase-oscillators": ("coupling", "spread", "noise"),
}


def test_they_run_only_where_named():
    named = {case.name for case in CASES}
    assert not named & {task.system for task in plan(TINY, 1)}
    assert {task.system for task in plan(TINY, 1, sorted(named))} == named


@pytest.mark.parametrize("name", FITTED)
def test_parametric_fit_recovers_the_truth(name):
    case = cases()[name]
    assert case.parametric is not None
    found = case.parametric(case.system.simulate(96, seed=0))
    for parameter in FITTED[name]:
        assert getattr(found, parameter) == pytest.approx(getattr(case.system, parameter), rel=0.15), parameter
