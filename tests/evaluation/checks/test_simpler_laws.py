"""Textbook laws by maximum likelihood: closed forms, and when one of them is named."""

import numpy as np
import pytest
from scipy import stats

import recorded_failures as failures
from nke.evaluation.checks import TEXTBOOK_LAWS, check_simpler_laws
from recorded_failures import model, recorded

LAWS = {law.name: law for law in TEXTBOOK_LAWS}


def test_random_walk_in_closed_form():
    x = np.cumsum(np.random.default_rng(0).normal(0.1, 2.0, 1001))
    scores, parameters = LAWS["a random walk"].scores(x[:-1], x[1:], np.ones(1000))
    moved = np.diff(x)
    assert parameters == 2
    assert scores.mean() == pytest.approx(stats.norm.logpdf(moved, moved.mean(), moved.std()).mean(), abs=1e-6)


def test_ornstein_uhlenbeck_in_closed_form():
    """Least squares on the state before, for equal steps."""
    path = failures.states(paths=1, rows=2001)[0, :, 0]
    x, y = path[:-1], path[1:]
    slope, constant = np.polyfit(x, y, 1)
    left = y - slope * x - constant
    scores, _ = LAWS["an Ornstein–Uhlenbeck process"].scores(x, y, np.full(2000, 0.1))
    assert scores.mean() == pytest.approx(stats.norm.logpdf(left, 0, left.std()).mean(), abs=1e-5)


def test_each_law_is_the_best_on_its_own_data():
    rng, n = np.random.default_rng(0), 3000
    x = np.exp(np.cumsum(0.05 * rng.normal(size=n + 1)))
    drawn = {
        "an Ornstein–Uhlenbeck process with Student noise": np.cumsum(rng.standard_t(3, n + 1)),
        "noise in proportion to a power of the state": x,
        "Merton's jump diffusion": np.cumsum(rng.normal(size=n + 1) + 8 * (rng.random(n + 1) < 0.05)),
    }
    for name, path in drawn.items():
        means = {law.name: law.scores(path[:-1], path[1:], np.ones(n))[0].mean() for law in TEXTBOOK_LAWS}
        assert max(means, key=lambda one: means[one]) == name


def test_named_where_it_predicts_better():
    """Student noise of three degrees of freedom under a Gaussian law."""
    rng = np.random.default_rng(0)
    moved = 0.3 * np.sqrt(failures.STEP) * rng.standard_t(3, (20, 200, 2))
    (finding,) = check_simpler_laws(model(0.0), recorded(np.cumsum(moved, axis=1)).transitions())
    assert finding.matters
    assert "Student" in finding.meaning


def test_not_named_beside_the_true_law():
    (finding,) = check_simpler_laws(model(), failures.right().transitions())
    assert not finding.matters
