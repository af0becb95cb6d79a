"""The law of a state that forgets its value: moments of the data as moments of its stationary law."""

import numpy as np
import pytest

import nke


@pytest.fixture(scope="module")
def states() -> np.ndarray:
    """N(1, 1), and a share of 5 % that deviates by another N(0, 16)."""
    rng = np.random.default_rng(0)
    return 1 + rng.normal(size=8000) + 4 * (rng.random(8000) < 0.05) * rng.normal(size=8000)


@pytest.fixture(scope="module")
def model(states) -> nke.Model:
    with pytest.warns(UserWarning, match="forgets its value"):
        return nke.fit(nke.Trajectories(states, 1.0), jumps=True, diagnosis=False, progress=False).model


def test_the_stationary_law_has_mean_and_variance_of_the_data(model, states):
    """Mean and covariance (a + λ⟨JJᵀ⟩)/(2θ) are those of the part that is trained on, 90 % of the data."""
    here, there = model.drift([[0.0], [1.0]])[:, 0]
    rate = here - there
    law = model.jump_law([[0.0]])
    second = float(law.covariances[0, 0, 0, 0] + law.means[0, 0, 0] ** 2)
    variance = (model.diffusion([[0.0]])[0, 0, 0] + float(model.jump_rate([[0.0]])[0]) * second) / (2 * rate)
    seen = nke.Trajectories(states, 1.0).split(0.1, seed=0)[0].transitions()
    trained = np.concatenate([seen.x, seen.y[-1:]])  # but for the last row of each stretch
    np.testing.assert_allclose(here / rate, trained.mean(), atol=1e-3)
    np.testing.assert_allclose(variance, trained.var(), rtol=2e-3)


def test_jumps_give_its_tails(model, states):
    """The fourth cumulant 3λγ²/(4θ), within what the data itself leaves open of it."""
    here, there = model.drift([[0.0], [1.0]])[:, 0]
    law = model.jump_law([[0.0]])
    found = 3 * float(model.jump_rate([[0.0]])[0]) * float(law.covariances[0, 0, 0, 0]) ** 2 / (4 * (here - there))
    parts = [part - states.mean() for part in np.split(states, 40)]
    cumulants = np.array([np.mean(part**4) - 3 * np.mean(part**2) ** 2 for part in parts])
    known = np.mean((states - states.mean()) ** 4) - 3 * states.var() ** 2
    assert abs(found - known) < 4 * cumulants.std() / np.sqrt(len(parts))
