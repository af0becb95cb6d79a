"""Laws without networks: maximum likelihood, what is dropped, what is left over, and when they are chosen."""

import re
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nke.fitting.beginning import Beginning
from nke.fitting.few_parameters import (
    FewParameters,
    cells,
    inverse_information,
    left_over,
    runs_away,
)
from nke.fitting.loop import CHUNK, Schedule
from nke.fitting.start import polynomial_drift

import nke
from nke.data import Coordinates
from nke.fitting import Likelihood
from nke.fitting.likelihood import Steps
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    EulerMaruyamaRule,
    Generator,
    JumpNetwork,
    PoissonJump,
    RelativeFactor,
    monomials,
)
from nke.systems import BimodalJumps, BlackScholes, CoxIngersollRoss, DoubleWell, Lorenz, OrnsteinUhlenbeck

STEP = 0.1
QUICK = Likelihood(schedule=Schedule(steps=CHUNK, particles=256), width=16)


def polynomial(degree: int = 1, inputs: int = 2, jumps: bool = False) -> Generator:
    """Without networks, at f = 0 and a = I."""
    key, eye = jax.random.key(0), jnp.eye(inputs)
    drift = DriftNetwork(jnp.full(inputs, 2.0), 0, 0, degree, key=key)
    jump = PoissonJump(JumpNetwork(jnp.ones(inputs), STEP * eye, 1.0, 1, 0, 0, key=key)) if jumps else None
    return Generator(Advection(drift), Diffusion(ConstantFactor(eye, key=key)), jump)


def moves(drift, noise=lambda x: 1.0, count: int = 20_000, seed: int = 0, jump_chance=None) -> Steps:
    """Euler–Maruyama steps in the plane from independent N(0, I) states."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 2))
    moved = STEP * drift(x) + np.sqrt(STEP) * noise(x) * rng.normal(size=(count, 2))
    if jump_chance is not None:
        moved += (rng.random(count) < jump_chance(x))[:, None] * rng.normal(size=(count, 2))
    return Steps(*(jnp.asarray(a, jnp.float32) for a in (x, moved, np.full(count, STEP))))


MATRIX = np.array([[-1.0, 0.5], [0.0, -2.0]])


def linear(x):
    return x @ MATRIX.T + np.array([0.3, 0.0])


class TestMaximum:
    def test_of_the_drift_alone_is_least_squares_weighed_by_the_noise(self):
        """Closed form, coordinate by coordinate: the noise stays as it is, also where it depends on the state."""
        begin = polynomial(2)
        sizes = {"origin": jnp.zeros(2), "size": jnp.full(2, 0.5), "noisy": None}
        noise = RelativeFactor(jnp.eye(2), 0, 0, **sizes, key=jax.random.key(0))
        begin = eqx.tree_at(lambda g: g.diffusion.factor, begin, noise)
        data = moves(linear, noise=lambda x: np.sqrt(0.25 + x**2))
        law = FewParameters(EulerMaruyamaRule(), begin, np.zeros(2), only_drift=True)
        law.maximise(data)
        assert [group.name for group in law.groups()] == ["drift"]
        x, moved = np.asarray(data.x, np.float64), np.asarray(data.displacement, np.float64) / STEP
        for old, new in zip(jax.tree.leaves(begin.diffusion), jax.tree.leaves(law.generator.diffusion), strict=True):
            np.testing.assert_array_equal(new, old)
        spread = np.asarray(jax.vmap(lambda x: noise(x) @ noise(x).T)(data.x))
        terms = np.concatenate([np.ones((len(x), 1)), np.asarray(monomials(x, 2))], axis=1)
        for k in range(2):
            root = 1 / np.sqrt(spread[:, k, k])
            expected = np.linalg.lstsq(root[:, None] * terms, root * moved[:, k], rcond=None)[0]
            skip = law.generator.advection.drift.body.skip
            found = 2 * np.concatenate([[skip.bias[k]], skip.weight[k]])
            np.testing.assert_allclose(found, expected, atol=5e-3)  # a step that gains less than 0.02 nats is not taken

    def test_is_least_squares_for_linear_drift_and_constant_noise(self):
        """Closed form: coefficients by least squares, a by the mean of the squares left over."""
        data = moves(linear)
        law = FewParameters(EulerMaruyamaRule(), polynomial(), np.zeros(2))
        information = law.maximise(data)
        columns = np.concatenate([np.ones((len(data.x), 1)), data.x], axis=1)
        velocity = np.asarray(data.displacement) / STEP
        exact = np.linalg.lstsq(columns, velocity, rcond=None)[0]
        rest = velocity - columns @ exact
        a = STEP * rest.T @ rest / len(rest)
        errors = np.sqrt(np.linalg.inv(columns.T @ columns).diagonal()[:, None] * a.diagonal() / STEP)
        found = np.array([[t.coefficient for t in row] for row in law.drift_terms(information)])
        reported = np.array([[t.error for t in row] for row in law.drift_terms(information)])
        assert (np.abs(found.T - exact) < 0.05 * errors).all()
        # The information is a mean over 20,000 products of fourth moments: 2 % and more.
        np.testing.assert_allclose(reported.T, errors, rtol=0.06)
        np.testing.assert_allclose(Diffusion(law.generator.diffusion.factor).tensor(jnp.zeros(2)), a, atol=2e-3)

    def test_powers_are_counted_from_the_users_zero(self):
        """The same function of the state, whatever is called zero: and its powers about that zero are found."""
        origin = np.array([0.7, -1.3])
        data = moves(lambda x: -((x - origin) ** 3))
        begin = polynomial(3)
        velocity = np.asarray(data.displacement) / STEP
        start = polynomial_drift(np.asarray(monomials(data.x, 3)), velocity, np.ones_like(velocity))
        begin = eqx.tree_at(
            lambda g: g.advection.drift, begin, begin.advection.drift.starting_from(*map(jnp.asarray, start))
        )
        law = FewParameters(EulerMaruyamaRule(), begin, origin)
        law.drop(law.maximise(data), len(data.x))
        terms = law.drift_terms(law.maximise(data))
        assert [[t.variables for t in row] for row in terms] == [[(0, 0, 0)], [(1, 1, 1)]]
        for row in terms:
            assert abs(row[0].coefficient + 1) < 4 * row[0].error
        x = jnp.array([0.4, 0.9])
        np.testing.assert_allclose(law.generator.advection.drift(x), -((x - origin) ** 3), rtol=0.05)

    def test_a_zero_far_from_the_data_is_not_counted_from(self):
        law = FewParameters(EulerMaruyamaRule(), polynomial(3), np.array([1e4, 0.0]))
        np.testing.assert_array_equal(law._to_vector, np.eye(len(law.parameters)))

    def test_what_the_data_does_not_ask_for_is_dropped(self):
        """Of six coefficients two are zero; the others are 10 standard errors and more."""
        data = moves(linear)
        law = FewParameters(EulerMaruyamaRule(), polynomial(), np.zeros(2))
        law.drop(law.maximise(data), len(data.x))
        terms = law.drift_terms(law.maximise(data))
        assert [[t.variables for t in row] for row in terms] == [[(), (0,), (1,)], [(1,)]]

    def test_dropping_keeps_the_restricted_maximum(self):
        """Newton's method after the quadratic guess of it moves by a small part of a standard error."""
        data = moves(linear)
        law = FewParameters(EulerMaruyamaRule(), polynomial(), np.zeros(2))
        information = law.maximise(data)
        law.drop(information, len(data.x))
        guess, on = law.parameters.copy(), law.active
        law.maximise(data)
        errors = np.sqrt(np.diag(inverse_information(information[np.ix_(on, on)])))
        assert (np.abs(law.parameters - guess)[on] < 0.1 * errors).all()

    def test_jumps_of_mean_zero_keep_it(self):
        data = moves(linear, jump_chance=lambda x: 0.1)
        law = FewParameters(EulerMaruyamaRule(), polynomial(jumps=True), np.zeros(2))
        law.drop(law.maximise(data), len(data.x))
        law.maximise(data)
        rate, jump = law.generator.jump.measure(jnp.zeros(2))
        assert not np.asarray(jump.means).any()
        # 1 − e^{−λs} = 0.1; 2,000 jumps, a little of whose number is known from their size only.
        assert abs(float(rate) * STEP / -np.log(0.9) - 1) < 4 / np.sqrt(2000)


class TestLeftOver:
    def fitted(self, data: Steps, jumps: bool = False) -> dict:
        law = FewParameters(EulerMaruyamaRule(), polynomial(jumps=jumps), np.zeros(2))
        law.maximise(data)
        scores = law.scores(data)
        telling = {"jumps": 0.1}
        return {
            g.name: left_over(scores[:, g.parameters], np.asarray(data.x), g.name != "drift", telling.get(g.name, 1.0))
            for g in law.groups()
        }

    def test_is_chance_under_the_true_law(self):
        """Twelve data sets: the mean of what is left, in its own standard deviations, is 0 ± 1/√12."""
        left = [self.fitted(moves(linear, count=8000, seed=seed)) for seed in range(12)]
        for name in ("drift", "noise"):
            z = [one[name].nats / one[name].chance for one in left]
            # Fitted parameters take a part away: 6 of 128 degrees of freedom, which is −0.4 standard deviations.
            assert -0.4 - 4 / np.sqrt(12) < np.mean(z) < 4 / np.sqrt(12), (name, z)
            assert all(one[name].nothing for one in left)

    def test_sees_a_drift_that_is_not_linear(self):
        left = self.fitted(moves(lambda x: np.sin(2 * x)))
        assert not left["drift"].nothing
        assert left["noise"].nothing

    def test_sees_noise_that_depends_on_the_state(self):
        left = self.fitted(moves(linear, noise=lambda x: 1 + 0.3 * np.tanh(x)))
        assert left["drift"].nothing
        assert not left["noise"].nothing

    def test_sees_a_rate_of_jumps_that_depends_on_the_state(self):
        assert not self.fitted(moves(linear, jump_chance=lambda x: 0.2 * (x[:, 0] > 0)), jumps=True)["jumps"].nothing
        assert self.fitted(moves(linear, jump_chance=lambda x: 0.1), jumps=True)["jumps"].nothing

    def test_tells_how_many_nats_a_richer_law_gains(self):
        """Variances of 1 ± 0.15 on the two sides of a line: the exact gain over one for both is 910 nats."""
        data = moves(lambda x: 0 * x, noise=lambda x: np.sqrt(1 + 0.15 * np.sign(x[:, :1])), count=80_000)
        exact = -len(data.x) * np.log(1 - 0.15**2) / 2
        # Of a χ² of 192 degrees of freedom, half of it, displaced by the gain; and about 7 % for the quadratic.
        error = np.sqrt((192 + 4 * exact) / 2)
        assert abs(self.fitted(data)["noise"].nats - exact) < 4 * error + 0.07 * exact

    @pytest.mark.parametrize("count", [50, 1000, 30_000])
    def test_cells_hold_every_state_once_and_are_alike(self, count):
        parts = cells(np.random.default_rng(0).normal(size=(count, 3)))
        np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(count))
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 6
        assert min(sizes) >= min(100, count)


def test_a_drift_that_runs_away_is_noticed():
    x = np.random.default_rng(0).normal(size=(1000, 1))
    for sign, away in ((1.0, True), (-1.0, False)):
        drift = DriftNetwork(jnp.ones(1), 0, 0, 3, key=jax.random.key(0))
        drift = drift.starting_from(jnp.zeros(1), jnp.array([[0.0, 0.0, sign]]))
        noise = Diffusion(ConstantFactor(jnp.eye(1), key=jax.random.key(0)))
        assert runs_away(Generator(Advection(drift), noise, None), x, 0.05) == away


class TestNetworksWithoutLayers:
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


def told(result) -> list[dict[str, tuple[float, float]]]:
    """For each coordinate the terms of the printed equation, with their coefficients and standard errors."""
    term = re.compile(r"([+-]\S+) \((\S+)\) ?([^\s+-]*)")
    rows = [term.findall(line.split(" = ")[1]) for line in result.decided["drift"].split("; ")]
    return [{name: (float(value), float(error)) for value, error, name in row} for row in rows]


def test_information_of_very_different_size_is_inverted():
    """A few far states make entries of high powers huge: three parameters whose units are 1, 1e9 and 1e18."""
    units = np.array([1.0, 1e9, 1e18])
    core = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    found = inverse_information(1e6 * core * units[:, None] * units)
    np.testing.assert_allclose(found * units[:, None] * units, np.linalg.inv(1e6 * core), rtol=1e-5)


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_correlated_noise_is_told_from_independent_noise(correlation):
    """2000 steps of pure noise: a correlation of 0.3 is 13 standard errors (1/√n), one of 0 is dropped for good."""
    covariance = np.array([[1.0, 2 * correlation], [2 * correlation, 4.0]])
    steps = np.random.default_rng(0).multivariate_normal(np.zeros(2), covariance, size=(40, 50))
    result = nke.fit(nke.Trajectories(np.cumsum(steps, axis=1), 1.0), Likelihood(networks=False), jumps=False)
    found = result.model.diffusion(np.zeros(2))
    if correlation == 0:
        assert found[0, 1] == 0
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / 2000)
    assert (np.abs(found - covariance) < 4 * error).all(), found


def test_steps_too_long_for_any_discrete_model_are_left_out():
    """dx = −x³ dt + 0.1 dW: over a step s the drift changes by |(1 − s x²)³ − 1| of itself, by all at s x² = 1."""
    rng, step = np.random.default_rng(0), 0.2
    x = np.concatenate([rng.uniform(-1.5, 1.5, 4000), rng.uniform(-4, 4, 400)])
    y = x / np.sqrt(1 + 2 * step * x**2) + 0.1 * np.sqrt(step) * rng.normal(size=len(x))  # the flow of −x³ is known
    pairs = nke.Trajectories(np.stack([x, y], axis=1)[..., None], step)
    coordinates = Coordinates.raw(pairs)
    start = Beginning(pairs.transitions(), coordinates, False, Likelihood(), 0)
    fine = start.described(start.x, start.step)
    assert 0.9 < fine.mean() < 1
    assert not fine[np.abs(start.x[:, 0]) > 3].any()
    assert fine[np.abs(start.x[:, 0]) < 1.5].all()


class TestChoice:
    def test_the_equation_is_told_in_the_users_units(self):
        """Ornstein–Uhlenbeck in other units: dx/dt = −θ x / 60, a standard error beside it, and no networks."""
        data = OrnsteinUhlenbeck(rate=1.0).simulate(128, seed=1)
        data = nke.Trajectories(np.asarray(data.states) * 1000, np.asarray(data.times) * 60, names=["u"])
        result = nke.fit(data, QUICK, jumps=False)
        assert "no networks" in result.decided["method"]
        assert "left over" in result.summary()
        [(name, (value, error))] = told(result)[0].items()
        assert name == "u"
        assert abs(value + 1 / 60) < 4 * error

    def test_survives_its_file(self, tmp_path):
        data = BlackScholes().simulate(32, seed=1)
        model = nke.fit(data, QUICK, jumps=False).model
        assert isinstance(model.generator.diffusion.factor, RelativeFactor)
        model.save(tmp_path / "model.nke")
        loaded = nke.load(tmp_path / "model.nke")
        x = np.asarray(data.states)[:, 3]
        np.testing.assert_array_equal(loaded.drift(x), model.drift(x))
        np.testing.assert_array_equal(loaded.log_prob(x + 0.01, x, 0.02), model.log_prob(x + 0.01, x, 0.02))

    def test_jumps_alike_everywhere_need_no_networks_and_survive_their_file(self, tmp_path):
        data = DoubleWell(dimension=1).simulate(64, seed=1)
        result = nke.fit(data, QUICK)
        assert "degree 3; 1 sub-step; no networks" in result.decided["method"]
        result.save(tmp_path / "model.nke")
        loaded = nke.load(tmp_path / "model.nke")
        x = np.asarray(data.states)[:, 3]
        np.testing.assert_array_equal(loaded.jump_rate(x), result.model.jump_rate(x))
        assert np.ptp(loaded.jump_rate(x)) == 0

    def test_networks_are_taken_where_something_is_left_over_but_not_for_the_drift(self):
        """A rate of jumps and shares that depend on the state, beside the drift −x."""
        result = nke.fit(BimodalJumps().simulate(128, seed=1), QUICK)
        assert "drift polynomial of degree 1; 1 sub-step; networks of 2 × 16" in result.decided["method"]
        assert result.decided["drift network"].startswith("none: degree 1 leaves")
        for found, name in zip(told(result), ("x1", "x2"), strict=True):
            assert list(found) == [name]
            value, error = found[name]
            assert abs(value + 1) < 4 * error

    def test_a_straight_drift_beside_noise_that_depends_on_the_state(self, tmp_path):
        """Cox–Ingersoll–Ross: a = 0.04 x; within 4 standard errors, and 5 % in the noise (1 % with a full training)."""
        system = CoxIngersollRoss()
        data = system.simulate(256, seed=1)
        result = nke.fit(data, replace(QUICK, substeps=1), jumps=False)
        assert "noise constant" not in result.decided["method"]
        [found] = told(result)
        assert set(found) == {"", "rate"}
        for name, true in {"": system.speed * system.level, "rate": -system.speed}.items():
            value, error = found[name]
            assert abs(value - true) < 4 * error
        x = np.asarray(data.states)[:, 50]
        assert nke.recovery(result.model, system, x).diffusion.relative < 0.05
        result.model.save(tmp_path / "model.nke")
        np.testing.assert_array_equal(nke.load(tmp_path / "model.nke").drift(x), result.model.drift(x))

    def test_a_drift_that_is_no_polynomial_keeps_its_network(self):
        """dx = 3 sin(3x) dt + √(1 + x²/4) dW in a box of the data: degree 3 is not enough, and that is told."""
        rng, x = np.random.default_rng(0), []
        state = rng.uniform(-3, 3, size=400)
        for _ in range(800):
            x.append(state)
            noise = np.sqrt(0.002 * (1 + state**2 / 4)) * rng.normal(size=400)
            state = np.clip(state + 0.002 * 3 * np.sin(3 * state) + noise, -3.5, 3.5)
        result = nke.fit(nke.Trajectories(np.stack(x[::10], axis=1)[..., None], 0.02), QUICK, jumps=False)
        assert "and network" in result.decided["method"]
        assert "none" not in result.decided.get("drift network", "")
        assert "drift" not in result.decided

    def test_networks_that_fail_leave_the_polynomial(self, monkeypatch):
        """Something is left over, but the training of networks is lost: no reason to lose the fit."""

        def fail(*arguments):
            raise FloatingPointError("the loss became NaN")

        monkeypatch.setattr(Likelihood, "_choose", fail)
        result = nke.fit(BimodalJumps().simulate(128, seed=1), QUICK)
        assert "no networks" in result.decided["method"]
        assert result.decided["networks"] == "their training left the finite numbers"

    def test_the_lorenz_equations_are_found(self):
        """Seven terms, each within four standard errors and 1 % for what two sub-steps of the discrete model miss."""
        result = nke.fit(Lorenz(noise=0.3).simulate(64, seed=1), Likelihood(substeps=2), jumps=False)
        true = [{"x": -10, "y": 10}, {"x": 28, "y": -1, "x·z": -1}, {"z": -8 / 3, "x·y": 1}]
        for found, expected in zip(told(result), true, strict=True):
            assert set(found) == set(expected)
            for name, (value, error) in found.items():
                assert abs(value - expected[name]) < 4 * error + 0.01 * abs(expected[name]), (name, value, error)

    def test_asked_for_networks_are_taken(self):
        data = OrnsteinUhlenbeck().simulate(16, seed=1)
        result = nke.fit(data, Likelihood(networks=True, noise="constant", schedule=QUICK.schedule), jumps=False)
        assert list(result.history) == ["likelihood"]

    def test_what_cannot_do_without_them_is_refused(self):
        with pytest.raises(ValueError, match="networks=False goes with noise constant or relative"):
            Likelihood(networks=False, noise="plain")
        falling = np.cumsum(np.full((4, 30, 1), 0.1), axis=1) + np.arange(4)[:, None, None]
        with pytest.raises(ValueError, match="networks=False, but"):
            nke.fit(nke.Trajectories(falling, np.arange(30.0)), Likelihood(networks=False), jumps=False)
