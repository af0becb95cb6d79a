"""Does a state remember its value over a step? White noise does not; what chance may hide is given the doubt."""

import numpy as np
import pytest

import nke
from nke.data import Coordinates
from nke.fitting import SelectionRules
from nke.fitting.memory import Memory

RULES = SelectionRules()


def memory(states) -> Memory:
    data = nke.Trajectories(states, 1.0)
    return Memory.of(data.transitions(), Coordinates.zscore(data), None, data.names, RULES)


def autoregressive(correlation: float, count: int) -> np.ndarray:
    states = [0.0]
    for shock in np.random.default_rng(0).normal(size=count):
        states.append(correlation * states[-1] + shock)
    return np.array(states)


def logistic_map(count: int) -> np.ndarray:
    """x ↦ 4x(1 − x): uncorrelated, and yet each state is known from the one before."""
    states = [0.3]
    for _ in range(count):
        states.append(4 * states[-1] * (1 - states[-1]))
    return np.array(states)


def test_white_noise_forgets():
    found = memory(np.random.default_rng(0).normal(size=5000))
    assert found.forgotten.all()
    assert abs(found.neighbours[0]) < 4 / np.sqrt(5000)


@pytest.mark.parametrize("states", [autoregressive(0.25, 5000), autoregressive(-0.25, 5000), logistic_map(5000)])
def test_what_a_regression_predicts_is_remembered(states):
    assert not memory(states).forgotten.any()


def test_few_states_are_given_the_benefit_of_the_doubt():
    """Of 100 states the correlation is known to 0.1 only."""
    assert not memory(np.random.default_rng(0).normal(size=100)).forgotten.any()


def test_only_the_coordinate_that_forgets_is_named():
    rng = np.random.default_rng(0)
    both = np.stack([np.cumsum(rng.normal(size=(10, 400)), axis=1), rng.normal(size=(10, 400))], axis=-1)
    found = memory(both)
    assert found.forgotten.tolist() == [False, True]
    decision = found.decision(simplest=False)
    assert decision.answer == "no: x2"
    assert decision.warning.startswith("x2 forgets its value within a step")


class TestAFitOfReturns:
    """Correlated normal returns: the simplest law, with their mean and covariance."""

    @pytest.fixture(scope="class")
    @classmethod
    def returns(cls) -> np.ndarray:
        return np.random.default_rng(1).multivariate_normal([0.5, -1.0], [[1.0, 0.6], [0.6, 2.0]], size=3000)

    @pytest.fixture(scope="class")
    @classmethod
    def result(cls, returns) -> nke.FitResult:
        with pytest.warns(UserWarning, match=r"numpy\.cumsum"):
            return nke.fit(nke.Trajectories(returns[None], 1.0), diagnosis=False, progress=False)

    def test_takes_the_simplest_law_and_says_so(self, result):
        assert (result.form.degree, result.form.noise, result.form.networks) == (1, "constant", False)
        assert result.form.basis == "powers"
        assert result.decision("memory").answer == "no; only the simplest law is taken"

    def test_simulated_paths_have_mean_and_deviations_of_the_data(self, result, returns):
        """A simulation in sub-steps of half of a relaxation time leaves the deviation short by (½)²/12."""
        paths = result.model.sample(returns[:2000], times=np.arange(6.0), seed=3)[:, -1]
        mean_error = returns.std(axis=0) * np.sqrt(1 / 2000 + 1 / 3000)
        assert (np.abs(paths.mean(axis=0) - returns.mean(axis=0)) < 4 * mean_error).all()
        error = returns.std(axis=0) * np.sqrt(1 / (2 * 2000) + 1 / (2 * 3000))
        gap = np.abs(paths.std(axis=0) - returns.std(axis=0))
        assert (gap < 4 * error + 0.25 / 12 * returns.std(axis=0)).all()

    def test_the_correlation_between_coordinates_too(self, result, returns):
        paths = result.model.sample(returns[:2000], times=np.arange(6.0), seed=3)[:, -1]
        found, known = (np.corrcoef(each.T)[0, 1] for each in (paths, returns))
        assert abs(found - known) < 4 * (1 - known**2) * np.sqrt(1 / 2000 + 1 / 3000)


def test_networks_that_were_asked_for_are_not_replaced():
    """The warning comes all the same."""
    states = np.random.default_rng(0).normal(size=2000)
    method = nke.Likelihood(networks=True, width=4, polish=False, schedule=nke.Schedule(steps=20, particles=64))
    with pytest.warns(UserWarning, match="forgets its value"):
        result = nke.fit(nke.Trajectories(states, 1.0), method, jumps=False, diagnosis=False, progress=False)
    assert result.decision("memory").answer == "no"
    assert result.decision("networks").rule == "as asked"
