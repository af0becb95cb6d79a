"""Laws with networks: when they are taken, which form, and what is said about it."""

from dataclasses import replace

import numpy as np
import pytest

import nke
from nke.errors import DivergenceError
from nke.fitting import Estimate, FitResult, Trainer
from nke.operators import ConstantFactor
from nke.systems import OrnsteinUhlenbeck
from quick_fits import QUICK, euler_maruyama, one_sided_jumps

ASKED = replace(QUICK, networks=True)


@pytest.fixture(scope="module")
def recorded() -> nke.Trajectories:
    return OrnsteinUhlenbeck().simulate(64, seed=1)


@pytest.fixture(scope="module")
def linear(recorded) -> FitResult:
    return nke.fit(recorded, replace(QUICK, networks=False), jumps=False, diagnosis=False)


@pytest.fixture(scope="module")
def one_sided_networks() -> FitResult:
    return nke.fit(one_sided_jumps(), replace(ASKED, noise="constant"), jumps=True, diagnosis=False)


def test_are_taken_where_a_polynomial_law_shows_lack_of_fit(network_fit):
    assert network_fit.form.networks
    assert network_fit.decision("polynomial").answer.endswith("with lack of fit")
    decision = network_fit.decision("networks")
    assert decision.answer == "yes"
    gain = decision.evidence["held-out gain in nats per transition"]
    assert isinstance(gain, Estimate)
    assert gain.value > gain.error
    assert {name: curve.kind for name, curve in network_fit.history.items()} == {"likelihood": "training"}


def test_the_rate_of_jumps_is_found(network_fit):
    """Some 500 jumps on the right: their mean rate is known to 5 %; four of these, and 5 % for a short training."""
    x = np.asarray(one_sided_jumps().states).reshape(-1, 1)
    left, right = x[x[:, 0] < -0.5], x[x[:, 0] > 0.5]
    true = 1.5 * (1 + np.tanh(2 * right))
    assert network_fit.model.jump_rate(right).mean() == pytest.approx(true.mean(), rel=0.25)
    assert network_fit.model.jump_rate(left).mean() < 0.8


def test_networks_that_are_asked_for_start_at_a_polynomial_and_stay_there_if_it_is_right(recorded, linear):
    """dx = −x dt + dW: no training predicts better than the straight line, and all hidden units have weight zero."""
    result = nke.fit(recorded, ASKED, jumps=False, diagnosis=False)
    assert result.form.networks
    assert result.decision("networks").evidence["weights of hidden units in drift"] == 0
    assert [curve.kind for curve in result.history.values()] == ["training"]  # no short runs: the form is known
    x = np.linspace(-1, 1, 5)[:, None]
    np.testing.assert_allclose(result.model.drift(x), linear.model.drift(x), rtol=1e-4)
    np.testing.assert_allclose(result.model.diffusion(x), linear.model.diffusion(x), rtol=1e-4)


def test_networks_learn_what_a_polynomial_misses(one_sided_networks):
    """Jumps on the right alone: the rate has hidden units, of weights by evidence; the drift −x needs none."""
    evidence = one_sided_networks.decision("networks").evidence
    assert evidence["weights of hidden units in jumps"] > 0
    x = np.array([[-1.0], [1.0]])
    left, right = one_sided_networks.model.jump_rate(x)
    assert left < 0.6 < 2 < right
    np.testing.assert_allclose(one_sided_networks.model.drift(x)[:, 0], [1, -1], atol=0.25)


def test_constant_noise_is_chosen_for_additive_noise_and_the_evidence_is_told(recorded):
    result = nke.fit(recorded, replace(ASKED, polish=False), jumps=False, diagnosis=False)
    assert result.form.noise == "constant"
    [(forms, compared)] = result.decision("noise").evidence.items()
    [gain] = compared.values()
    assert forms == "plain noise, drift of degree 1 over constant noise, drift of degree 1"
    assert gain.value < gain.error + result.rules.trial_gain
    assert [curve.kind for curve in result.history.values()] == ["trial", "trial", "training"]
    assert "plain noise, drift of degree 1 over constant noise" in " ".join(result.summary(verbose=True).split())
    assert result.decision("networks").answer == "yes"
    assert result.equation is None


def test_asked_for_noise_means_no_trial(recorded):
    result = nke.fit(recorded, replace(ASKED, noise="constant"), jumps=False, diagnosis=False)
    assert list(result.history) == ["likelihood"]
    assert result.decision("noise").answer == "constant, as asked"
    assert isinstance(result.model.generator.noise_factor, ConstantFactor)
    assert result.decision("networks").rule == "as asked"


def test_networks_that_fail_leave_the_polynomial(monkeypatch):
    """There is lack of fit, but the training of networks is lost: no reason to lose the fit."""

    def fail(*arguments, **options):
        raise DivergenceError("the loss became NaN or infinite")

    monkeypatch.setattr(Trainer, "train", fail)
    result = nke.fit(
        one_sided_jumps(), replace(QUICK, noise="constant", jump_shapes="state-dependent"), diagnosis=False
    )
    assert not result.form.networks
    assert result.equation.jumps is not None
    assert result.decision("networks").answer == "no: their training became NaN or infinite"


def test_a_drift_that_is_no_polynomial_is_smooth():
    """dx = (3 sin 3x − x) dt + √(1 + x²/4) dW: degree 3 is not enough, and that is told."""
    start = np.random.default_rng(0).uniform(-3, 3, size=128)
    data = euler_maruyama(lambda x: 3 * np.sin(3 * x) - x, lambda x: np.sqrt(1 + x**2 / 4), start, 81, 0.02)
    result = nke.fit(data, replace(QUICK, noise="plain", substeps=1), jumps=False, diagnosis=False)
    assert result.form.basis != "powers"
    assert result.decision("smooth").answer == "yes"
    assert result.equation is None
