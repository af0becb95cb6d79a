"""Every baseline is fitted once, when a test first asks for it."""

from functools import cache

import pytest

import nke
from fitted_baselines import GAN, SIZES, STEPS, Motionless
from known_paths import falling, turning
from nke.baselines import EulerMaruyama, TrajectoryFlowMatching


@pytest.fixture(scope="session")
def fitted():
    """Gives the fit of a baseline by its name, on data that suits it."""

    @cache
    def fit(name):
        method, data = {
            "euler_maruyama": (EulerMaruyama(**SIZES), turning),
            "flow_matching": (TrajectoryFlowMatching(**SIZES), turning),
            "sde_gan": (Motionless(steps=STEPS, **GAN), falling),
        }[name]
        return nke.fit(data(), method, seed=0, diagnosis=False)

    return fit
