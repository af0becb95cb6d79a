"""Fitted models that several test files look at, each fitted once."""

from dataclasses import replace

import pytest

import nke
from nke.fitting import FitResult, Likelihood
from quick_fits import (
    QUICK,
    correlated_walk,
    double_well,
    geometric_brownian_motion,
    one_sided_jumps,
    ornstein_uhlenbeck_in_units,
)
from stationary_paths import MOMENTS, STATES, STEP


@pytest.fixture(scope="session")
def linear_fit() -> FitResult:
    """Ornstein–Uhlenbeck in millimetres and seconds."""
    return nke.fit(ornstein_uhlenbeck_in_units(), QUICK, jumps=False, diagnosis=False)


@pytest.fixture(scope="session")
def far_fit() -> FitResult:
    """The same, a hundred standard deviations from zero."""
    return nke.fit(ornstein_uhlenbeck_in_units(shift=7e4), QUICK, jumps=False, diagnosis=False)


@pytest.fixture(scope="session")
def jump_fit() -> FitResult:
    """A double well with jumps that are the same in every state."""
    return nke.fit(double_well(), QUICK, diagnosis=False)


@pytest.fixture(scope="session")
def relative_fit() -> FitResult:
    """Noise in proportion to the state, which is not learned as its logarithm."""
    return nke.fit(geometric_brownian_motion(), QUICK, jumps=False, positive=[], diagnosis=False)


@pytest.fixture(scope="session")
def independent_fit() -> FitResult:
    """Pure noise in the plane, independent between the coordinates."""
    return nke.fit(correlated_walk(0.0), Likelihood(networks=False), jumps=False, diagnosis=False)


@pytest.fixture(scope="session")
def correlated_fit() -> FitResult:
    """Pure noise in the plane, with a correlation of 0.3."""
    return nke.fit(correlated_walk(0.3), Likelihood(networks=False), jumps=False, diagnosis=False)


@pytest.fixture(scope="session")
def network_fit() -> FitResult:
    """A rate of jumps that depends on the state, beside the drift −x; jumps of such shapes are no smooth law."""
    return nke.fit(
        one_sided_jumps(),
        replace(QUICK, polish=False, noise="constant", jump_shapes="state-dependent"),
        diagnosis=False,
    )


@pytest.fixture(scope="session")
def stationary_data() -> nke.Trajectories:
    """f = −x, a = 1: 128 exact trajectories of 41 rows."""
    return nke.Trajectories(STATES, STEP, names=["height"], units=["m"])


@pytest.fixture(scope="session")
def moment_fit(stationary_data) -> FitResult:
    """The paper's four steps on them."""
    return nke.fit(stationary_data, MOMENTS, jumps=False, seed=0, diagnosis=False)
