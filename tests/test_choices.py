"""What a fit decides by itself: noise, sub-steps, jumps and their law; and what it says about it."""

import warnings
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nke.fitting.beginning import Beginning, Form
from nke.fitting.loop import CHUNK, Schedule
from nke.fitting.start import jump_law, polynomial_drift, start_with_jumps
from nke.fitting.words import step_in_words
from nke.model.evaluation import finer, sample

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
    JumpNetwork,
    RelativeFactor,
    Strang,
    monomials,
)
from nke.systems import BimodalJumps, BlackScholes, DoubleWell, Lorenz, OrnsteinUhlenbeck

QUICK = Likelihood(networks=True, schedule=Schedule(steps=CHUNK, particles=128), width=16)


def in_z(data: nke.Trajectories):
    seen, to = data.transitions(), Coordinates.zscore(data)
    return to.displacement_to(seen.displacement), to.step_to(seen.step)


class TestNoise:
    def test_relative_noise_is_in_proportion_to_the_state(self):
        """g = √(c² + x²)·start as long as the network is at its start; x counted from the user's zero."""
        start, origin = jnp.array([[0.3, 0.0], [0.1, 0.2]]), jnp.array([-2.0, 1.0])
        factor = RelativeFactor(start, 8, 1, origin, jnp.full(2, 1e-3), key=jax.random.key(0))
        g = factor(origin + jnp.array([4.0, -3.0]))
        np.testing.assert_allclose(g, np.array([[4.0], [3.0]]) * start, rtol=2e-3)

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


@pytest.mark.usefixtures("double_precision")
def test_substeps_bring_the_packet_closer_to_a_known_law():
    """dX = ½X dt + X dW over s = 0.5: mean e^{s/2} − 1, variance e^{s}(e^{s} − 1) of the displacement from 1.

    The rule is of first order in the variance for multiplicative noise, so halving the step must at least take
    away a third of its error.
    """
    drift, factor = (lambda x: 0.5 * x), (lambda x: x[:, None])
    generator = Generator(Advection(drift), Diffusion(factor), None)
    exact = np.expm1(0.25), np.exp(0.5) * np.expm1(0.5)
    errors = []
    for substeps in (1, 2, 4):
        law = ForwardPacket(substeps=substeps).displacement(generator, jnp.ones(1), jnp.asarray(0.5))
        errors.append([abs(float(law.mean[0]) - exact[0]), abs(float(law.covariance[0, 0]) - exact[1])])
    errors = np.array(errors)
    assert (errors[1:, 1] < 2 / 3 * errors[:-1, 1]).all(), errors
    assert errors[2, 0] < 1e-3


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

    def test_monomials(self):
        np.testing.assert_array_equal(monomials(np.array([2.0, 3.0]), 2), [2, 3, 4, 6, 9])


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

    def test_a_network_starts_at_a_law_and_drops_components(self):
        law = nke.GaussianMixture(
            np.array([0.5, 0.3, 0.2]),
            np.array([[3.0, 0.0], [-3.0, 1.0], [0.0, 4.0]]),
            np.array([[[1.0, 0.3], [0.3, 2.0]]] * 3),
        )
        network = JumpNetwork(jnp.array([2.0, 1.0]), 0.1 * jnp.eye(2), 1.5, 3, 8, 1, key=jax.random.key(0))
        rate, found = network.starting_from(law)(jnp.zeros(2))
        assert float(rate) == pytest.approx(1.5)
        for wanted, got in zip(jax.tree.leaves(law), jax.tree.leaves(found), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
        rate, found = network.starting_from(law).prune([0, 2])(jnp.zeros(2))
        assert float(rate) == pytest.approx(1.5)
        np.testing.assert_allclose(found.weights, [5 / 7, 2 / 7], rtol=1e-5)
        np.testing.assert_allclose(found.means, law.means[[0, 2]], atol=1e-5)

    @pytest.mark.parametrize("state_dependent_shapes", [False, True])
    def test_pruning_changes_nothing_for_the_components_kept(self, state_dependent_shapes):
        network = JumpNetwork(
            jnp.ones(2), 0.1 * jnp.eye(2), 1.5, 3, 8, 1, state_dependent_shapes, key=jax.random.key(0)
        )
        last = jax.random.normal(jax.random.key(1), network.mlp.layers[-1].weight.shape)
        network = eqx.tree_at(lambda n: n.mlp.layers[-1].weight, network, last)
        x, keep = jnp.array([0.3, -0.7]), [2, 0]
        (rate, whole), (same, part) = network(x), network.prune(keep)(x)
        assert float(same) == float(rate)
        np.testing.assert_allclose(part.weights, whole.weights[jnp.array(keep)] / (1 - whole.weights[1]), rtol=1e-5)
        np.testing.assert_allclose(part.means, whole.means[jnp.array(keep)], rtol=1e-5)
        np.testing.assert_allclose(part.covariances, whole.covariances[jnp.array(keep)], rtol=1e-5)
        assert bool((network(-x)[1].means == whole.means).all()) is not state_dependent_shapes

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


class TestSampling:
    def test_substeps_follow_the_noise(self):
        """Noise that changes by 30 % of itself over a step is cut until it changes by 20 %, additive noise is not."""
        z, step, key = jnp.linspace(0.5, 2.0, 400)[:, None], jnp.asarray(0.09), jax.random.key(0)
        still = Advection(lambda x: 0.0 * x)
        multiplicative = Generator(still, Diffusion(lambda x: x[:, None]), None)
        additive = Generator(still, Diffusion(lambda x: jnp.eye(1)), None)
        # The 90 % quantile of ξ² is 2.7 times its mean of one: 2.7 (0.3/0.2)² = 6.1, ± 0.9 over 400 states.
        assert 4 <= int(finer(multiplicative, z, step, key)) <= 9
        assert int(finer(additive, z, step, key)) == 1

    def test_a_superlinear_drift_does_not_explode(self):
        generator = Generator(Advection(lambda x: -(x**5)), Diffusion(lambda x: 0.1 * jnp.eye(1)), None)
        steps, counts = np.full(20, 0.5), np.ones(20, int)
        paths = sample(generator, Strang(), jnp.full((3, 1), 20.0), steps, counts, jax.random.key(0))
        assert np.isfinite(paths).all()
        assert np.abs(paths[-1]).max() < 20
