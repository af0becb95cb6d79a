"""Is the data fine enough for what was learned? Numbers, and warnings where it is not."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.data import Coordinates
from nke.fitting import SelectionRules
from nke.fitting.validity import jump_decisions, noise_decision, step_decision
from nke.operators import Advection, Diffusion, Generator, JumpNetwork, PoissonJump
from nke.systems import DoubleWell, OrnsteinUhlenbeck
from true_models import true_model

RULES = SelectionRules()


@pytest.mark.parametrize(("step", "coarse"), [(0.05, False), (0.5, True)])
def test_a_step_ten_times_too_coarse(step, coarse):
    """The double well's own drift turns by more than itself in none and in an eighth of the states."""
    system = DoubleWell(rate=0.0, dimension=1)
    data = system.simulate(256, seed=1, times=step * np.arange(11))
    decision = step_decision(true_model(system, step=step), data.transitions(), RULES)
    assert ("step of the data is too coarse" in decision.warning) == coarse
    assert bool(decision.warning) == coarse
    assert decision.answer.startswith("not everywhere" if coarse else "yes")


@pytest.mark.parametrize(("slope", "coarse"), [(1.0, False), (10.0, True)])
def test_a_straight_drift_is_followed_until_nothing_is_remembered(slope, coarse):
    """x' = −slope·x over a step of one: the discrete model follows it, but e^{−10} is no memory."""
    generator = Generator(Advection(lambda x: -slope * x), Diffusion(lambda x: jnp.eye(1)))
    model = nke.Model(generator, Coordinates(np.zeros(1), np.ones(1), 1.0), 1.0, ("x",), ("",))
    x = np.linspace(-3.0, 3.0, 301)
    decision = step_decision(model, nke.Trajectories(np.stack([x, x], axis=1)[..., None], 1.0).transitions(), RULES)
    assert bool(decision.warning) == coarse
    assert decision.evidence["median relative change of the drift over a step"] == pytest.approx(slope, rel=1e-4)
    assert decision.evidence["share of transitions over which it turns by more than its own size"] == 0


def test_states_in_which_the_drift_turns_too_fast_are_named():
    """x' = −2 + 52 e^{−x/0.05} for x > 0: at a step of 0.05 the drift changes by more than itself for x < 0.14 only."""
    generator = Generator(Advection(lambda x: -2 + 52 * jnp.exp(-x / 0.05)), Diffusion(lambda x: jnp.eye(1)))
    model = nke.Model(generator, Coordinates(np.zeros(1), np.ones(1), 1.0), 0.05, ("level",), ("",))
    x = np.linspace(0.0, 3.0, 301)
    data = nke.Trajectories(np.stack([x, x], axis=1)[..., None], 0.05, names=["level"])
    decision = step_decision(model, data.transitions(), RULES)
    assert re.search(r"too coarse in [\d.]+% of the transitions, those from level 0", decision.warning)
    assert decision.answer.startswith("not everywhere: too coarse at level 0.")
    assert decision.evidence["median relative change of the drift over a step"] < 0.01


def test_noise_that_is_huge_in_few_states_is_named():
    """a = 1 but 1000 for x > 2.99: in 1 of 301 states; noise in proportion to the state is no reason to warn."""
    x = np.linspace(0.0, 3.0, 301)
    part = nke.Trajectories(np.stack([x, x], axis=1)[..., None], 0.05, names=["level"]).transitions()
    for factor, found in ((lambda x: jnp.where(x > 2.995, 31.6, 1.0), True), (lambda x: 1e-3 + x, False)):
        generator = Generator(Advection(lambda x: -x), Diffusion(lambda x, g=factor: g(x)[:, None]))
        model = nke.Model(generator, Coordinates(np.zeros(1), np.ones(1), 1.0), 0.05, ("level",), ("",))
        decision = noise_decision(model, part, RULES)
        assert ("those from level 3 to 3" in decision.warning) == found
        assert decision.answer.startswith("not everywhere: doubtful at level 3") == found


def jumping_model(data: nke.Trajectories, size: float, rate: float) -> nke.Model:
    """Jumps of one size over noise of one per step, at one rate per unit of the coordinates of training."""
    network = JumpNetwork(jnp.full(1, size), jnp.eye(1), rate, 1, 8, 1, key=jax.random.key(0))
    generator = Generator(Advection(lambda x: -x), Diffusion(lambda x: jnp.eye(1)), PoissonJump(network))
    return nke.Model(generator, Coordinates.zscore(data), 0.05, data.names, data.units)


class TestJumps:
    @pytest.fixture(scope="class")
    @classmethod
    def data(cls) -> nke.Trajectories:
        return OrnsteinUhlenbeck().simulate(8, seed=3, times=np.arange(41) * 0.05)

    def test_as_small_as_the_noise_are_reported(self, data):
        _, law = jump_decisions(jumping_model(data, 1e-3, 0.01), data.transitions(), RULES)
        assert "cannot be told from diffusion" in law.warning
        assert law.topic == "jump law"
        assert law.answer == "1 Gaussian, shapes the same in every state"
        assert law.evidence["size of component 1 over the noise of a step"] == pytest.approx(1.0, rel=1e-3)

    def test_too_many_in_a_step_are_reported(self, data):
        model = jumping_model(data, 5.0, 2.0)
        expected = float(model.jump_rate(np.zeros(1))) * 0.05
        assert expected > RULES.many_jumps
        rate, _ = jump_decisions(model, data.transitions(), RULES)
        assert "single jumps cannot be told apart" in rate.warning
        assert rate.evidence["jumps per step"] == pytest.approx(expected, rel=1e-5)

    def test_large_and_rare_ones_give_no_warning(self, data):
        rate, law = jump_decisions(jumping_model(data, 5.0, 0.01), data.transitions(), RULES)
        assert (rate.topic, law.topic) == ("jump rate", "jump law")
        assert (rate.warning, law.warning) == ("", "")


def test_a_fit_warns_and_names_the_columns_of_the_data():
    """log level is an Ornstein–Uhlenbeck process whose memory is a tenth of a step."""
    states = np.exp(0.3 * np.random.default_rng(0).normal(size=(32, 41, 1)))
    data = nke.Trajectories(states, 1.0, names=["level"])
    with pytest.warns(UserWarning, match="the step of the data is too coarse"):
        result = nke.fit(data, nke.Likelihood(networks=False), jumps=False, positive=["level"], diagnosis=False)
    assert result.decision("step").answer == "no"
    assert result.model.names == ("level",)
