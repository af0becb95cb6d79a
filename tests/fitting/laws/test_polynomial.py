"""Polynomial laws: when they are chosen, what they find, their files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.data import Coordinates
from nke.fitting import FitRun, Likelihood, ModelForm, SelectionRules, Trainer
from nke.fitting.batches import TrainingData, transition_blocks
from nke.fitting.candidate import Problem
from nke.fitting.initial_networks import InitialModel
from nke.fitting.laws.polynomial import PolynomialFit
from nke.operators import Advection, ConstantFactor, Diffusion, DriftNetwork, Generator, JumpNetwork, RelativeFactor
from nke.systems import GeometricBrownianMotion, Lorenz
from quick_fits import double_well, geometric_brownian_motion


def assert_same_after_saving(result: nke.FitResult, x: np.ndarray, path) -> nke.Model:
    """The model from a file computes the same bytes."""
    result.save(path)
    loaded, model = nke.load(path), result.model
    for name in ("drift", "diffusion", "jump_rate"):
        np.testing.assert_array_equal(getattr(loaded, name)(x), getattr(model, name)(x))
    np.testing.assert_array_equal(
        loaded.log_prob(x + 0.01, given=x, step=0.02), model.log_prob(x + 0.01, given=x, step=0.02)
    )
    return loaded


class TestChoice:
    def test_a_linear_law_needs_no_networks(self, linear_fit):
        form = linear_fit.form
        assert (form.noise, form.degree, form.networks) == ("constant", 1, False)
        assert linear_fit.decision("networks").answer == "no"
        assert linear_fit.history == {}
        [trial] = linear_fit.decision("polynomial").evidence.values()
        assert {"lack of fit of drift in nats", "lack of fit of noise in nats"} <= trial.keys()
        assert trial["lack of fit of drift in nats"].value < 20

    def test_relative_noise(self, relative_fit, tmp_path):
        """dx = μ x dt + σ x dW: both coefficients within four standard errors."""
        system, equation = GeometricBrownianMotion(growth=0.5), relative_fit.equation
        [term] = equation.drift[equation.names[0]]
        assert abs(term.coefficient - system.growth) < 4 * term.error
        assert abs(equation.noise.diffusion[0][0] - system.volatility**2) < 4 * equation.noise.error[0][0]
        assert relative_fit.form.noise == "relative"
        assert isinstance(relative_fit.model.generator.noise_factor, RelativeFactor)
        assert_same_after_saving(relative_fit, geometric_brownian_motion().states[:, 3], tmp_path / "model.nke")

    def test_jumps_alike_everywhere_need_no_networks(self, jump_fit, tmp_path):
        form = jump_fit.form
        assert (form.noise, form.degree, form.substeps, form.networks) == ("constant", 3, 1, False)
        assert [term.variables for term in jump_fit.equation.drift["x"]] == [("x",), ("x",) * 3]
        for term, true in zip(jump_fit.equation.drift["x"], (1, -1), strict=True):
            assert abs(term.coefficient - true) < 4 * term.error
        x = np.asarray(double_well().states)[:, 3]
        loaded = assert_same_after_saving(jump_fit, x, tmp_path / "model.nke")
        assert np.ptp(loaded.jump_rate(x)) == 0

    @pytest.mark.validation
    def test_the_lorenz_equations_are_found(self):
        """Seven terms, each within four standard errors and 1 % for what two sub-steps of the discrete model miss."""
        result = nke.fit(Lorenz(noise=0.3).simulate(64, seed=1), Likelihood(substeps=2), jumps=False, diagnosis=False)
        true = {"x": {"x": -10, "y": 10}, "y": {"x": 28, "y": -1, "x·z": -1}, "z": {"z": -8 / 3, "x·y": 1}}
        for row, expected in true.items():
            found = {"·".join(term.variables): term for term in result.equation.drift[row]}
            assert set(found) == set(expected)
            for name, term in found.items():
                assert abs(term.coefficient - expected[name]) < 4 * term.error + 0.01 * abs(expected[name]), term

    def test_what_needs_networks_is_refused_without_them(self):
        """A motion without any noise is no law of few parameters."""
        falling = np.cumsum(np.full((4, 30, 1), 0.1), axis=1) + np.arange(4)[:, None, None]
        with pytest.raises(ValueError, match="networks=False, but"):
            nke.fit(
                nke.Trajectories(falling, np.arange(30.0)), Likelihood(networks=False), jumps=False, diagnosis=False
            )


class TestFunctionsWithoutLayers:
    def test_relative_noise_is_in_exact_proportion(self):
        factor = RelativeFactor(0.2 * jnp.eye(2), 0, 0, jnp.zeros(2), jnp.full(2, 1e-6), key=jax.random.key(0))
        near, far = factor(jnp.ones(2)), factor(jnp.full(2, 1e3))
        np.testing.assert_allclose(far, 1e3 * near, rtol=1e-5)

    def test_jumps_are_the_same_everywhere(self):
        network = JumpNetwork(jnp.ones(2), 0.1 * jnp.eye(2), 3.0, 2, 0, 0, key=jax.random.key(0))
        (rate, law), (other, moved) = network(jnp.zeros(2)), network(jnp.full(2, 5.0))
        assert float(rate) == float(other)
        np.testing.assert_array_equal(law.means, moved.means)
        assert network.prune([1]).components == 1


class TestBeyondTheData:
    """dx = (cubic) dt + dW over states in [−3, 3]: −x + x³/20 leads outwards from √20 on, x − x³ leads back."""

    DATA = nke.Trajectories(np.random.default_rng(0).uniform(-3, 3, size=200), 0.05)

    def fitted(self, *slopes: float) -> tuple[PolynomialFit, Problem]:
        """A law as after a fit, and what it was fitted to."""
        key, coordinates = jax.random.key(0), Coordinates.raw(self.DATA)
        free = DriftNetwork(jnp.ones(1), 0, 0, 3, key=key)
        drift = free.starting_from(jnp.zeros(1), coordinates.time_unit * jnp.array([slopes]))
        generator = Generator(
            Advection(drift), Diffusion(ConstantFactor(coordinates.time_unit**0.5 * jnp.eye(1), key=key))
        )
        method, rules, transitions = Likelihood(), SelectionRules(), self.DATA.transitions()
        initial = InitialModel(transitions, coordinates, False, method, 0, rules)
        blocks = transition_blocks(transitions, coordinates, initial.sample.free, 1.0)
        trainer = Trainer(nke.Schedule(steps=1), FitRun(seed=0))
        problem = Problem(TrainingData(blocks, blocks), initial, method, trainer, rules)
        return PolynomialFit(ModelForm("constant", degree=3, networks=False), generator, np.zeros(1), 4), problem

    def model(self, law: PolynomialFit) -> nke.Model:
        return nke.Model(law.generator, Coordinates.raw(self.DATA), 0.05, self.DATA.names, self.DATA.units)

    def test_a_drift_that_leads_back_is_left_alone(self):
        law, problem = self.fitted(1.0, 0.0, -1.0)
        assert law.safeguarded(problem) is law
        assert law.safeguards(problem) == []

    def test_one_that_runs_away_is_bounded_there_and_says_so(self):
        law, problem = self.fitted(-1.0, 0.0, 0.05)
        bounded = law.safeguarded(problem)
        x, far = np.linspace(-2.9, 2.9, 50)[:, None], np.array([[-100.0], [100.0]])
        free, found = self.model(law), self.model(bounded)
        np.testing.assert_array_equal(found.drift(x), free.drift(x))
        assert np.abs(found.drift(far)).max() <= 1.01 * np.abs(free.drift(x)).max()
        [decision] = bounded.safeguards(problem)
        assert decision.topic == "bounded drift"
        assert "the equation does not hold there" in decision.answer

    def test_no_simulated_path_is_lost_any_more(self):
        law, problem = self.fitted(-1.0, 0.0, 0.05)
        start, times = np.full((64, 1), 5.0), np.linspace(0, 5, 11)
        with pytest.warns(RuntimeWarning, match="infinite"):
            assert not np.isfinite(self.model(law).sample(start, times)).all()
        assert np.isfinite(self.model(law.safeguarded(problem)).sample(start, times)).all()

    def test_the_bounds_survive_the_file(self, tmp_path):
        law, problem = self.fitted(-1.0, 0.0, 0.05)
        bounded = self.model(law.safeguarded(problem))
        bounded.save(tmp_path / "model.nke")
        x = np.linspace(-50, 50, 20)[:, None]
        np.testing.assert_array_equal(nke.load(tmp_path / "model.nke").drift(x), bounded.drift(x))
