"""Smooth laws: when they are chosen, how close they come to a known law, what can be done with them."""

from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import nke
from nke.fitting import FitResult, SelectionRules
from nke.fitting.candidate import Comparison, Trial
from nke.fitting.laws.smooth import SmoothFamily
from nke.operators import SmoothDrift, SmoothFactor
from quick_fits import euler_maruyama

STEP, NOISE = 0.05, 0.7
RULES = SelectionRules()


def sine(x):
    return -2 * np.sin(2 * x)


@pytest.fixture(scope="module")
def data() -> nke.Trajectories:
    """dx = −2 sin 2x dt + 0.7 dW: 64 paths of 100 transitions, over two wells on either side of zero."""
    start = np.random.default_rng(0).uniform(-3, 3, 64)
    return euler_maruyama(sine, lambda x: NOISE, start, 101, STEP)


@pytest.fixture(scope="module")
def sine_fit(data) -> FitResult:
    return nke.fit(data, jumps=False, progress=False, diagnosis=False)


def evidence_of(result: FitResult) -> dict:
    return next(iter(result.decision("smooth").evidence.values()))


class TestChoice:
    def test_a_sine_is_no_polynomial(self, sine_fit):
        assert sine_fit.decision("smooth").answer == "yes"
        assert sine_fit.decision("networks").answer == "no"
        assert not sine_fit.form.networks
        assert isinstance(sine_fit.model.generator.drift_network, SmoothDrift)
        assert isinstance(sine_fit.model.generator.noise_factor, SmoothFactor)
        assert sine_fit.equation is None
        polynomial = sine_fit.decision("polynomial")
        assert polynomial.answer == "none"  # a regression shows that fitting one would be in vain
        assert polynomial.evidence["nats of evidence by which a smooth regression is ahead"] > RULES.hopeless_nats

    def test_a_linear_law_stays_a_polynomial(self, linear_fit):
        """Ornstein–Uhlenbeck: no smooth law is even tried."""
        assert linear_fit.form.basis != "powers and kernels"
        assert [decision for decision in linear_fit.decisions if decision.topic == "smooth"] == []
        assert len(linear_fit.equation.drift["u"]) == 1


class TestLastResort:
    """Constant noise that a cheap test ruled out is fitted after all where no other smooth law can be simulated."""

    @pytest.fixture(autouse=True)
    def forms(self, monkeypatch):
        monkeypatch.setattr(SmoothFamily, "_forms", lambda *_: [("constant", 3), ("plain", 3), ("plain", 1)])

    def search(self, accepted: bool, polynomial: Any = None) -> Any:
        """A search in which the first proposal fails the cheap test, and the others are taken or fail as told."""
        regression = SimpleNamespace(state_dependent_noise=True)
        initial = SimpleNamespace(
            noiseless=np.zeros(1, bool), turns_fast=True, smooth_regression=lambda degree, constant: regression
        )
        options = SimpleNamespace(networks=None, noise=None, jump_shapes=None, substeps=1)
        problem = SimpleNamespace(options=options, initial=initial, rules=RULES)
        search: Any = SimpleNamespace(problem=problem, best=polynomial, trials=[])
        for law in SmoothFamily().propose(search):
            search.trials.append(Trial(law, None, Comparison(accepted and not law.doubted), "no maximum"))
        return search

    def proposed(self, accepted: bool, polynomial: Any = None) -> list[tuple[str, int, bool]]:
        """Noise, highest power and doubt of all proposals."""
        laws = [trial.candidate for trial in self.search(accepted, polynomial).trials]
        return [(law.form.noise, law.form.degree, law.doubted) for law in laws]

    def test_where_all_others_fail(self):
        assert self.proposed(False) == [
            ("constant", 3, True),
            ("plain", 3, False),
            ("plain", 1, False),
            ("constant", 3, False),
        ]

    def test_not_where_one_is_taken(self):
        assert ("constant", 3, False) not in self.proposed(True)

    @pytest.mark.parametrize("passes", [True, False])
    def test_only_beside_a_polynomial_with_lack_of_fit(self, passes, monkeypatch):
        monkeypatch.setattr(SmoothFamily, "_worth_a_try", lambda *_: True)
        polynomial = SimpleNamespace(passes_score_test=passes)
        assert (("constant", 3, False) in self.proposed(False, polynomial)) is not passes

    def test_each_proposal_is_explained(self):
        search = self.search(False)
        (decision,) = SmoothFamily().explain(search)
        assert len(decision.evidence) == len(search.trials) == 4


class TestAccuracy:
    def test_the_drift_is_as_close_as_its_information_allows(self, sine_fit, data):
        """Σ s (f̂ − f)²/a over the transitions is on average the effective number of parameters; four standard
        deviations of χ² above that are allowed, for all transitions instead of those of training. No drift at all
        would be a hundred times that far from the truth.
        """
        x = np.asarray(data.states)[:, :-1]
        weight, facts = STEP / NOISE**2, evidence_of(sine_fit)
        effective = facts["effective parameters"]
        assert 5 < effective < facts["parameters"]
        error = weight * np.sum((sine_fit.model.drift(x) - sine(x)) ** 2)
        share = sine_fit.decision("data").evidence["training"] / x.size
        assert error < (effective + 4 * np.sqrt(2 * effective)) / share
        assert weight * np.sum(sine(x) ** 2) > 20 * error

    def test_the_noise_is_constant(self, sine_fit, data):
        """Its variance within four standard errors, the same everywhere."""
        a = sine_fit.model.diffusion(np.linspace(-3, 3, 9)[:, None])[:, 0, 0]
        assert np.ptp(a) == 0
        assert abs(a[0] / NOISE**2 - 1) < 4 * np.sqrt(2 / 6400) + 40 / 6400

    def test_no_lack_of_fit_remains(self, sine_fit):
        facts = evidence_of(sine_fit)
        for name in ("drift", "noise"):
            assert facts[f"lack of fit of {name} in nats"].value < sine_fit.rules.lack_of_fit_nats


class TestUse:
    def test_paths_are_finite_and_stay_in_the_wells(self, sine_fit, data):
        start = np.asarray(data.states)[:, 0]
        paths = sine_fit.model.sample(start, np.arange(41) * STEP, seed=0)
        assert paths.shape == (64, 41, 1)
        assert np.isfinite(paths).all()
        assert np.abs(paths).max() < 2 * np.abs(data.states).max()

    @pytest.mark.parametrize("x", [-2.5, 0.1, 1.4])
    def test_the_transition_density_integrates_to_one(self, sine_fit, x):
        y = np.linspace(x - 2, x + 2, 801)[:, None]
        density = np.exp(sine_fit.model.log_prob(y, given=np.full_like(y, x), step=STEP))
        assert np.trapezoid(density, y[:, 0]) == pytest.approx(1, abs=1e-4)
        mean, exact = np.trapezoid(density * y[:, 0], y[:, 0]), x + STEP * sine(x)
        assert mean == pytest.approx(exact, abs=0.05)

    def test_the_file_gives_the_same_law(self, sine_fit, data, tmp_path):
        sine_fit.save(tmp_path / "model.nke")
        loaded, x = nke.load(tmp_path / "model.nke"), np.asarray(data.states)[:, 3]
        for name in ("drift", "diffusion"):
            np.testing.assert_array_equal(getattr(loaded, name)(x), getattr(sine_fit.model, name)(x))
        y = x + 0.01
        np.testing.assert_array_equal(
            loaded.log_prob(y, given=x, step=STEP), sine_fit.model.log_prob(y, given=x, step=STEP)
        )

    def test_the_summary_says_what_was_taken(self, sine_fit):
        assert "powers and kernels" in str(sine_fit)


def test_the_posterior_covariance_comes_with_the_result(sine_fit):
    """One block for the drift and one for the noise; every parameter in use has its place and a variance."""
    places = np.concatenate([block for block, _ in sine_fit.posterior])
    assert len(set(places)) == len(places) <= evidence_of(sine_fit)["parameters"]
    for block, covariance in sine_fit.posterior:
        assert covariance.shape == (len(block), len(block))
        assert (np.linalg.eigvalsh(covariance) > 0).all()


def test_intervals_hold_the_sine_and_the_noise(sine_fit, data):
    """At most states of the data, one data set being one draw; and the data covers them, but not far states."""
    x = data.observed_states[::20]
    lower, upper = sine_fit.model.interval("drift", x)
    assert np.mean((lower <= sine(x)) & (sine(x) <= upper)) > 0.7
    assert np.median(upper - lower) < 1.0  # of a drift between −2 and 2
    lower, upper = sine_fit.model.interval("diffusion", x)
    assert (lower > 0).all()
    assert np.mean((lower <= NOISE**2) & (upper >= NOISE**2)) > 0.7
    assert (sine_fit.model.seen(x) > 0.5).mean() > 0.95
    assert sine_fit.model.seen([[30.0]]) < 0.1


def test_a_smooth_drift_beyond_the_data_is_that_at_its_end(sine_fit, data):
    """However far the state is; within the data nothing changes."""
    drift = sine_fit.model.generator.drift_network
    x = np.asarray(data.states).reshape(-1, 1)
    z = np.asarray(sine_fit.model.coordinates.to(x), np.float32)
    free = jax.vmap(SmoothDrift(drift.body, drift.scale.value))
    middle = z[(np.abs(z) < np.quantile(np.abs(z), 0.99)).ravel()]
    np.testing.assert_allclose(jax.vmap(drift)(middle), free(middle), rtol=1e-6)
    far = sine_fit.model.drift(np.array([[-1e3], [1e3]]))
    np.testing.assert_allclose(far, sine_fit.model.drift(np.array([x.min(axis=0), x.max(axis=0)])), rtol=0.02)
    assert np.abs(jax.vmap(drift)(10 * z)).max() <= 1.001 * np.abs(jax.vmap(drift)(z)).max()
