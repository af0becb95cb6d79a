"""The search over families of laws: in turn, the best kept, failures told; and a new family in one file."""

import numpy as np
import pytest

import nke
from nke.data import Coordinates
from nke.errors import DivergenceError
from nke.fitting.candidate import Candidate, Comparison, Family, LawFit
from nke.fitting.decisions import Decision
from nke.fitting.form import ModelForm
from nke.fitting.laws.networks import NetworkFamily
from nke.fitting.laws.polynomial import PolynomialFamily
from nke.fitting.search import Search
from nke.operators import Advection, Diffusion, Generator
from quick_fits import QUICK, euler_maruyama
from sine_law import SineFamily

AMPLITUDES = np.array([1.0, 0.5, 0.0])


class TestANewFamily:
    """dx = (sin x + ½ sin 2x) dt + 0.7 dW over two periods: a polynomial of degree 3 cannot follow it."""

    @pytest.fixture(scope="class")
    @classmethod
    def recorded(cls) -> nke.Trajectories:
        start = np.random.default_rng(0).uniform(-2 * np.pi, 2 * np.pi, size=200)
        drift = lambda x: AMPLITUDES @ np.sin(np.arange(1, 4)[:, None] * x)  # noqa: E731
        return euler_maruyama(drift, lambda x: 0.7, start, 51, 0.05)

    @pytest.fixture(scope="class")
    @classmethod
    def result(cls, recorded) -> nke.FitResult:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("nke.fitting.search.FAMILIES", (PolynomialFamily(), SineFamily(), NetworkFamily()))
            return nke.fit(recorded, QUICK, jumps=False, coordinates=Coordinates.raw(recorded), diagnosis=False)

    def test_is_taken(self, result):
        assert result.form.basis == "sines"
        assert not result.form.networks
        assert result.decision("method").answer == "constant noise; drift sum of sines; no networks; 1 sub-step"
        assert result.decision("method").evidence["parameters"] == 3 + 1

    def test_the_decisions_explain_it(self, result):
        assert result.decision("polynomial").answer.endswith("with lack of fit")
        decision = result.decision("sines")
        assert decision.answer == "yes"
        [evidence] = decision.evidence.values()
        gain = evidence["held-out gain in nats per transition"]
        assert gain.value > 2 * gain.error
        assert evidence["lack of fit of drift in nats"].value < result.rules.lack_of_fit_nats
        assert result.decision("networks").answer == "no"
        assert "Is the drift a sum of sines? yes" in result.summary(verbose=True)

    def test_finds_the_amplitudes(self, result, recorded):
        """An amplitude is known to √(a/(T·⟨sin²⟩)), T = 180·2.5; time runs in units of the data's own step."""
        found = result.model.generator.drift_network.amplitudes[0] / result.model.coordinates.time_unit
        x = np.asarray(recorded.states)[:, :-1].reshape(-1, 1)
        columns = np.sin(np.arange(1, 4) * x)
        errors = np.sqrt(0.49 * np.diag(np.linalg.inv(0.05 * 0.9 * columns.T @ columns)))
        assert (np.abs(found - AMPLITUDES) < 4 * errors).all()
        drift = np.sin(x) + 0.5 * np.sin(2 * x)
        assert np.sqrt(np.mean((result.model.drift(x) - drift) ** 2)) < 4 * np.sqrt(np.sum(errors**2))


LAW = Generator(Advection(lambda x: -x), Diffusion(lambda x: x[:, None]), None)


class Named(Candidate):
    """A candidate whose fit is known beforehand; None: it diverges."""

    def __init__(self, loss: float | None):
        self.form, self.loss = ModelForm("constant"), loss

    def initial(self, problem):
        return LAW

    def fit(self, problem):
        if self.loss is None:
            raise DivergenceError("it has no maximum")
        return LawFit(self.form, LAW, np.full(4, self.loss), 1)


class Losses(Family):
    """Proposes candidates one after the other; takes the least loss."""

    name = "losses"

    def __init__(self, *values: float | None):
        self.values = values

    def propose(self, search):
        yield from map(Named, self.values)

    def compare(self, fit, search):
        return Comparison(search.best is None or fit.loss < search.best.loss)

    def explain(self, search):
        failures = [trial.failure for trial in search.trials if trial.fit is None]
        return [Decision("How many?", str(len(search.trials)), {"failures": failures}, topic="losses")]


class TestSearch:
    def search(self, *families: Family) -> Search:
        problem = object.__new__(nke.fitting.candidate.Problem)  # none of these candidates looks at it
        return Search(problem, families)

    def test_the_best_of_all_families_is_kept(self):
        search = self.search(Losses(3.0, 1.0, 2.0), Losses(), Losses(0.5, 4.0))
        assert search.run().loss == 0.5
        assert [decision.answer for decision in search.decisions] == ["3", "0", "2"]

    def test_a_candidate_that_diverges_is_told_and_passed_over(self):
        search = self.search(Losses(None, 2.0, None))
        assert search.run().loss == 2.0
        assert search.decisions[0].evidence == {"failures": ["it has no maximum"] * 2}
        assert search.trials[0].evidence() == "it has no maximum"
        assert search.trials[1].evidence() == {"parameters": 1}

    def test_a_singular_matrix_ends_a_candidate_and_not_the_search(self):
        class Singular(Named):
            def fit(self, problem):
                np.linalg.inv(np.zeros((2, 2)))

        family = Losses(2.0)
        family.propose = lambda search: iter([Singular(1.0), Named(2.0)])
        search = self.search(family)
        assert search.run().loss == 2.0
        assert search.trials[0].evidence() == "Singular matrix"

    @pytest.mark.parametrize("networks", [False, None])
    def test_without_networks_the_best_of_the_refused_is_given_with_a_warning(self, networks):
        class Refused(Losses):
            def compare(self, fit, search):
                return Comparison(False, diverges=True)

        search = self.search(Refused(3.0, 1.0, np.nan, 2.0))
        object.__setattr__(search.problem, "options", nke.Likelihood(networks=networks))
        if networks is None:
            with pytest.raises(DivergenceError):
                search.run()
            return
        law = search.run()
        assert law.loss == 1.0
        assert "not to be trusted in simulations" in search.decisions[-1].warning

    def test_no_law_at_all_is_an_error(self):
        with pytest.raises(DivergenceError, match="it has no maximum"):
            self.search(Losses(None)).run()
        with pytest.raises(DivergenceError, match="no kind of law"):
            self.search(Losses()).run()


def test_gains_compare_valid_transitions_one_by_one():
    losses = np.array([1.0, 2.0, 3.0, 100.0])
    valid = np.array([True, True, True, False])
    one, other = (
        LawFit(ModelForm("constant"), LAW, loss, 1, valid) for loss in (losses, losses + np.array([1, 2, 3, 50]))
    )
    assert one.gain_over(other) == (2.0, pytest.approx(np.std([1, 2, 3]) / np.sqrt(3)))
    assert one.loss == 2.0
    assert not one.passes_score_test, "it was not tested"
    assert not one.passes("drift")
