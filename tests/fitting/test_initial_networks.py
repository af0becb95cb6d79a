"""Where a fit begins: forms of the noise worth a trial, coordinates without noise, shapes of the jumps, any form."""

import jax
import numpy as np
import pytest

import nke
from nke.data import Coordinates
from nke.fitting import Likelihood, ModelForm, SelectionRules
from nke.fitting.initial_networks import InitialModel
from nke.fitting.kinematics import kinematic_constraint
from nke.operators import ForwardPacket
from nke.systems import BlackScholes, DoubleWell, Lorenz, OrnsteinUhlenbeck, RarefiedGas
from quick_fits import QUICK, euler_maruyama

RULES = SelectionRules()


def initial_model(data: nke.Trajectories, jumps: bool, **options) -> InitialModel:
    return InitialModel(data.transitions(), Coordinates.zscore(data), jumps, Likelihood(**options), 0, RULES)


@pytest.mark.parametrize(
    ("system", "forms"),
    [
        (OrnsteinUhlenbeck(), ["constant", "plain"]),
        (DoubleWell(), ["constant", "plain"]),
        (Lorenz(noise=0.3), ["plain", "relative"]),
        (BlackScholes(), ["constant", "plain", "relative"]),
    ],
    ids=str,
)
def test_noise_that_is_not_plausible_is_not_tried(system, forms):
    assert initial_model(system.simulate(64, seed=1), system.has_jumps).plausible_noise() == forms


def test_a_model_in_every_form_survives_its_file(tmp_path):
    data = BlackScholes().simulate(4, seed=1)
    to = Coordinates.zscore(data)
    initial = InitialModel(data.transitions(), to, False, QUICK, 0, RULES)
    generator = initial.generator(ModelForm("relative", 2, 2), lambda: jax.random.key(1))
    model = nke.Model(generator, to, 0.02, data.names, data.units, ForwardPacket(substeps=2))
    model.save(tmp_path / "model.nke")
    loaded = nke.load(tmp_path / "model.nke")
    x = np.asarray(data.states)[:, 3]
    assert loaded.rule == model.rule
    np.testing.assert_array_equal(loaded.diffusion(x), model.diffusion(x))
    np.testing.assert_array_equal(
        loaded.log_prob(x + 0.01, given=x, step=0.02), model.log_prob(x + 0.01, given=x, step=0.02)
    )


def test_noise_is_told_from_none():
    """Every coordinate of the double well is noisy; a clock beside it is not."""
    data = DoubleWell().simulate(50, seed=0)
    assert not initial_model(data, True).noiseless.any()
    clock = np.broadcast_to(np.asarray(data.times)[0][:, None], (*data.states.shape[:2], 1))
    both = nke.Trajectories(np.concatenate([data.states, clock], axis=-1), data.times)
    initial = initial_model(both, True)
    assert initial.noiseless.tolist() == [False, False, False, True]
    [decision] = [d for d in initial.decisions if d.topic == "resolution"]
    assert decision.answer == "3"  # by its place, since no names were given
    assert initial.polynomial_forms(None) == []


def test_the_gas_needs_jumps_that_depend_on_the_state_and_the_double_well_does_not():
    gas, names = RarefiedGas().simulate(128, seed=0), {f"x{i}": f"v{i}" for i in (1, 2, 3)}
    for data, kinetic, expected in ((gas, names, True), (DoubleWell().simulate(128, seed=0), {}, False)):
        to, seen = Coordinates.zscore(data), data.transitions()
        constraint = kinematic_constraint(kinetic, tuple(kinetic), data.names, seen, to, RULES)
        initial = InitialModel(seen, to, True, Likelihood(components=1), 0, RULES, constraint)
        assert initial.state_dependent_shapes == expected
        [decision] = [d for d in initial.decisions if d.topic == "jump shapes"]
        assert decision.answer == ("yes" if expected else "no")
        share, chance = decision.evidence.values()
        assert (share > max(RULES.state_dependent_share, chance)) == expected


def test_a_fast_drift_is_no_jump():
    """f = −8 sin 2x, a = 0.1, jumps N(0, 1) at rate 1: in a step the drift moves up to 0.4, the noise 0.2.

    Told from what a smooth drift leaves, there are as many jumps as there were, to four standard errors and the sixth
    of them that is no larger than the noise; told from what a quadratic drift leaves, twice as many.
    """
    start = np.random.default_rng(0).uniform(-3, 3, 64)
    data = euler_maruyama(
        lambda x: -8 * np.sin(2 * x), lambda x: np.sqrt(0.1), start, 101, 0.05, jump_rate=lambda x: np.ones_like(x)
    )
    initial, time_unit = initial_model(data, True), Coordinates.zscore(data).time_unit
    smooth, quadratic = (moments.rate / time_unit for moments in (initial.moments, initial.residual_moments))
    assert -1 / 6 - 4 / np.sqrt(320) < smooth - 1 < 4 / np.sqrt(320)
    assert quadratic > 2
    white = initial.residual / np.sqrt(initial.sample.step[:, None] * initial.moments.noise[0, 0])
    assert abs(np.median(np.abs(white)) - 0.6745) < 0.1  # mostly noise, which the stated one describes


def test_calm_motions_where_the_noise_is_large_are_no_jumps():
    """Noise of 0.2 within |x| < 1 and ten times that beyond 2; jumps of 8 noise widths there in 1 % of the steps."""
    rng, step = np.random.default_rng(0), 0.02
    x = rng.normal(size=(8000, 1))
    deviation = np.sqrt(step) * 0.2 * np.exp(np.log(10) * np.clip(np.abs(x) - 1, 0, 1))
    jumped = rng.random(8000) < 0.01
    moved = -step * x + deviation * rng.normal(size=x.shape) + 8 * np.sqrt(step) * 2 * jumped[:, None]
    data = nke.Trajectories(np.stack([x, x + moved], axis=1), step)
    told = initial_model(data, True).moments.jumped
    far = np.abs(x[:, 0]) > 1.8
    assert far.sum() > 500
    assert told[jumped].min() > 0.99
    assert told[far & ~jumped].mean() < 0.01  # with the same noise everywhere, half of them
