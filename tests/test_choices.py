"""What a fit decides by itself: noise, sub-steps, jumps and their law; and what it says about it."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nke.fitting.beginning import Beginning, Form
from nke.fitting.loop import CHUNK, Schedule
from nke.fitting.start import jump_law, polynomial_drift, start_with_jumps
from nke.fitting.words import step_in_words

import nke
from nke.data import Coordinates
from nke.fitting import Likelihood
from nke.fitting.jump_detection import has_jumps
from nke.fitting.likelihood import schedule_for
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    ForwardPacket,
    Generator,
    monomials,
)
from nke.systems import BimodalJumps, BlackScholes, DoubleWell, Lorenz, OrnsteinUhlenbeck

QUICK = Likelihood(networks=True, schedule=Schedule(steps=CHUNK, particles=128), width=16)


def in_z(data: nke.Trajectories):
    seen, to = data.transitions(), Coordinates.zscore(data)
    return to.displacement_to(seen.displacement), to.step_to(seen.step)


class TestNoise:
    def test_constant_noise_is_chosen_for_additive_noise_and_the_evidence_is_told(self):
        result = nke.fit(OrnsteinUhlenbeck().simulate(64, seed=1), QUICK, jumps=False)
        assert "noise constant" in result.decided["method"]
        assert "plain over constant" in result.summary()

    def test_what_cannot_be_is_not_tried(self):
        for system, forms in (
            (OrnsteinUhlenbeck(), ["constant", "plain"]),
            (DoubleWell(), ["constant", "plain"]),
            (Lorenz(noise=0.3), ["plain", "relative"]),
            (BlackScholes(), ["constant", "plain", "relative"]),
        ):
            data = system.simulate(64, seed=1)
            begin = Beginning(data.transitions(), Coordinates.zscore(data), system.has_jumps, QUICK, seed=0)
            assert begin.plausible() == forms

    def test_asked_for_means_no_trial(self):
        data = OrnsteinUhlenbeck().simulate(16, seed=1)
        result = nke.fit(data, replace(QUICK, noise="constant"), jumps=False)
        assert list(result.history) == ["likelihood"]
        assert result.decided["noise"] == "as asked"
        assert isinstance(result.model.generator.diffusion.factor, ConstantFactor)

    @pytest.mark.parametrize(
        "options",
        [
            {"noise": "loud"},
            {"substeps": 0},
            {"substeps": 99},
            {"components": -1},
            {"components": 0},
            {"jump_shapes": "round"},
        ],
    )
    def test_wrong_options_are_refused(self, options):
        with pytest.raises(ValueError, match="expected"):
            Likelihood(**options)

    def test_a_model_in_every_form_survives_its_file(self, tmp_path):
        data = BlackScholes().simulate(4, seed=1)
        to = Coordinates.zscore(data)
        begin, form = Beginning(data.transitions(), to, False, QUICK, seed=0), Form("relative", 2, 2)
        generator = begin.generator(form, lambda: jax.random.key(1))
        model = nke.Model(generator, to, 0.02, data.names, data.units, ForwardPacket(substeps=2))
        model.save(tmp_path / "model.nke")
        loaded = nke.load(tmp_path / "model.nke")
        x = np.asarray(data.states)[:, 3]
        assert loaded.rule == model.rule
        np.testing.assert_array_equal(loaded.diffusion(x), model.diffusion(x))
        np.testing.assert_array_equal(loaded.log_prob(x + 0.01, x, 0.02), model.log_prob(x + 0.01, x, 0.02))


class TestDrift:
    @pytest.mark.parametrize("degree", [1, 2])
    def test_least_squares_finds_a_polynomial_and_the_network_starts_there(self, degree):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(500, 2))
        terms = monomials(x, degree)
        slopes, constant = rng.normal(size=(2, terms.shape[1])), np.array([0.5, -1.0])
        found = polynomial_drift(terms, constant + terms @ slopes.T, rng.uniform(0.5, 2, size=x.shape))
        # A ridge of 1e-4 on columns of mean square one.
        np.testing.assert_allclose(found[1], slopes, atol=2e-3)
        np.testing.assert_allclose(found[0], constant, atol=2e-3)
        drift = DriftNetwork(jnp.array([2.0, 3.0]), 8, 1, degree, key=jax.random.key(0))
        drift = drift.starting_from(*map(jnp.asarray, found))
        np.testing.assert_allclose(drift(jnp.asarray(x[0], jnp.float32)), found[0] + found[1] @ terms[0], rtol=1e-5)


class TestJumps:
    def test_as_many_gaussians_as_the_jumps_have(self):
        for system, components in ((BimodalJumps(), 2), (DoubleWell(dimension=1), 1)):
            moved, step = in_z(system.simulate(256, seed=2))
            law = jump_law(start_with_jumps(moved, step), moved, step, None, seed=0)
            assert law is not None
            assert law.components == components

    def test_too_few_jumps_to_tell(self):
        moved, step = in_z(DoubleWell().simulate(1, seed=2))
        assert jump_law(start_with_jumps(moved, step), moved, step, 4, seed=0) is None

    def test_shapes_that_depend_on_the_state(self, tmp_path):
        """Every jump doubles the state: its mean is x, its standard deviation 0.2."""
        rng, n, step = np.random.default_rng(5), 8000, 0.05
        x = rng.uniform(-2, 2, n)
        jumped = rng.random(n) < 0.15
        y = (
            x
            - step * x
            + np.where(jumped, x + 0.2 * rng.normal(size=n), 0.0)
            + 0.1 * np.sqrt(step) * rng.normal(size=n)
        )
        data = nke.Trajectories(np.stack([x, y], axis=1)[..., None], np.array([0.0, step]))
        method = replace(QUICK, noise="constant", components=1, jump_shapes="state-dependent")
        result = nke.fit(data, replace(method, schedule=Schedule(600, particles=256)), jumps=True)
        result.model.save(tmp_path / "m.nke")
        at = np.array([[-1.5], [-0.75], [0.75], [1.5]])
        law = nke.load(tmp_path / "m.nke").jump_law(at)
        # 1200 jumps, a quarter of them near each state: the mean there is known to 0.2/√300 ≈ 0.012, plus what the
        # network smooths away.
        np.testing.assert_allclose(law.means[:, 0, 0], at[:, 0], atol=0.1)
        np.testing.assert_allclose(np.sqrt(law.covariances[:, 0, 0, 0]), 0.2, atol=0.06)
        assert "depending on the state" in result.summary()

    def test_heavy_multiplicative_noise_is_no_jump(self):
        data = Lorenz(noise=3.0).simulate(256, seed=4)
        found, _ = has_jumps(data.transitions(), Coordinates.zscore(data), np.random.default_rng(0))
        assert not found

    def test_rare_jumps_are_said_to_be_unknown(self):
        data = DoubleWell(rate=0.01).simulate(1024, seed=4)
        _, words = has_jumps(data.transitions(), Coordinates.zscore(data), np.random.default_rng(0))
        assert "compare the scores" in words


@pytest.mark.parametrize(
    ("transitions", "steps", "decay"), [(1e3, 1000, 1.0), (3.2e3, 1000, 0.84), (1e5, 3000, 0.15), (1e7, 3000, 0.015)]
)
def test_little_data_is_learned_in_fewer_steps_with_more_decay(transitions, steps, decay):
    schedule = schedule_for(3, int(transitions))
    assert schedule.steps == steps
    assert schedule.weight_decay == pytest.approx(decay, rel=0.01)
    assert schedule_for(1, int(transitions)).steps <= steps


class TestMisfit:
    def test_jumps_that_were_ruled_out(self):
        data = DoubleWell(dimension=1).simulate(32, seed=1)
        with pytest.warns(UserWarning, match="there seem to be jumps"):
            nke.fit(data, replace(QUICK, noise="constant"), jumps=False)

    @pytest.mark.parametrize(("step", "coarse"), [(0.05, False), (0.5, True)])
    def test_a_step_ten_times_too_coarse(self, step, coarse):
        """The double well's own drift changes by 5 % and about 50 % of itself; the threshold is 35 %."""
        system = DoubleWell(rate=0.0)
        data = system.simulate(64, seed=1, times=step * np.arange(101))
        generator = Generator(Advection(system.drift), Diffusion(system.noise_matrix), None)
        to = Coordinates(np.zeros(3), np.ones(3), 1.0)
        model = nke.Model(generator, to, step, data.names, data.units)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step_in_words(model, data.transitions())
        assert ["step of the data is too coarse" in str(w.message) for w in caught] == [True] * coarse
