"""Moment matching from end to end on small data with known truth.

Compilation rules the time of a small fit, and packets of each time step apart have shapes that follow from
the number of trajectories alone. So most fits here use ``QUICK`` on 128 trajectories of 41 rows.
"""

import inspect
import math
import sys
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from nke.fitting.loop import Schedule, Trainer

import nke
from nke.data import Coordinates, Trajectories
from nke.fitting import FitResult, MomentMatching
from nke.fitting import loop as loop_module
from nke.fitting.jump_detection import has_jumps
from nke.operators import ConstantFactor, DiagonalFactor, FullFactor
from nke.systems import (
    BimodalJumps,
    BlackScholes,
    CoxIngersollRoss,
    DoubleWell,
    GeometricBrownianMotion,
    Lorenz,
    OrnsteinUhlenbeck,
)

# A quarter is held out: 32 trajectories, of which packets of 16 can be formed.
QUICK = MomentMatching(
    neighbours=16,
    pool=False,
    held_out=0.25,
    width=16,
    depth=1,
    schedule=Schedule(steps=400, learning_rate=1e-2, particles=512),
)
TRAJECTORIES, ROWS, STEP = 128, 41, 0.05
GRID = np.linspace(-1, 1, 21)[:, None]


def ornstein_uhlenbeck(d=1, correlation=0.0, seed=0):
    """Exact trajectories of dX = −X dt + dW, the noise correlated between coordinates, from the stationary law."""
    rng = np.random.default_rng(seed)
    tensor = (1 - correlation) * np.eye(d) + correlation
    decay = math.exp(-STEP)
    lower = np.linalg.cholesky(tensor * (1 - decay**2) / 2)
    x = rng.standard_normal((TRAJECTORIES, d)) @ np.linalg.cholesky(tensor / 2).T
    states = [x]
    for _ in range(ROWS - 1):
        x = decay * x + rng.standard_normal(x.shape) @ lower.T
        states.append(x)
    return np.stack(states, axis=1)


STATES = ornstein_uhlenbeck()


@pytest.fixture(scope="module")
def data():
    return Trajectories(STATES, STEP, names=["height"], units=["m"])


@pytest.fixture(scope="module")
def result(data):
    return nke.fit(data, QUICK, jumps=False, seed=0)


def numbers(model):
    """All parameters of a model in one vector."""
    return np.asarray(ravel_pytree([leaf for leaf in jax.tree.leaves(model.generator) if hasattr(leaf, "dtype")])[0])


@pytest.fixture
def untrained(monkeypatch):
    """Fits stop short of training, every network stays as it starts; what training gets is kept."""
    given = {}

    def train(self, name, loss, start, blocks):
        given[name] = (loss, start, blocks)
        return start

    monkeypatch.setattr(Trainer, "train", train)
    return given


class FirstStageReachedError(Exception):
    pass


@pytest.fixture
def particles_of(monkeypatch):
    """Fits until training would begin, and gives back the training and held-out particles."""

    def stop(self, name, loss, start, blocks):
        raise FirstStageReachedError([part.arrays for part in blocks])

    def run(*arguments, **options):
        with pytest.raises(FirstStageReachedError) as caught:
            nke.fit(*arguments, **options)
        return caught.value.args[0]

    monkeypatch.setattr(Trainer, "train", stop)
    return run


# Known truth


class TestOrnsteinUhlenbeck:
    """f = −x, a = 1; 96 training trajectories over 2 time units, that is T = 192."""

    def test_diffusion(self, result):
        """The mean of a over 3840 squared increments has a standard error of √(2/3840) = 2.3 %: 10 % is four."""
        assert result.model.diffusion(GRID).mean() == pytest.approx(1.0, abs=0.1)

    def test_drift(self, result):
        """The slope has a standard error of √(2/T) = 0.10 and a bias of 1/κ = 0.06 towards zero (DESIGN 4.2);
        early stopping takes some more. Asserted: its sign beyond doubt, its size within four of these.
        """
        slope, offset = np.polyfit(GRID[:, 0], result.model.drift(GRID)[:, 0], 1)
        assert -1.4 < slope < -0.5
        assert abs(offset) < 4 * 1 / math.sqrt(192)

    def test_no_jumps(self, result):
        assert not result.model.has_jumps
        assert (result.model.jump_rate(GRID) == 0).all()

    def test_the_model_simulates_the_data(self, result):
        """The stationary variance 1/2 of 128 trajectories, at the last time: sd of the estimate √(2/128)/2."""
        paths = result.model.sample(STATES[:, 0], STEP * np.arange(ROWS), seed=1)
        assert paths.shape == STATES.shape
        # The slope's own uncertainty moves the variance a/(2θ) by its relative error.
        assert paths[:, -1].var() == pytest.approx(0.5, abs=4 * 0.5 * math.hypot(math.sqrt(2 / 128), 0.15))


def test_correlated_noise_by_every_form_of_diffusion():
    """a = [[1, ½], [½, 1]]. Full and constant factors find it; a diagonal one can only find its diagonal.

    Covariances grow by s·a + 2 Cov(x − μ̃, noise): with packets as wide as Σ ≈ 0.3 the second term rules the
    standard error, √(4 Σ a/(s n)) = 0.08 for n = 3840 increments. Seeds 0 to 3 spread by that much.
    """
    states = ornstein_uhlenbeck(2, correlation=0.5)
    points = states[:, ::10].reshape(-1, 2)
    for form in (FullFactor, DiagonalFactor, ConstantFactor):
        fitted = nke.fit(Trajectories(states, STEP), replace(QUICK, diffusion=form), jumps=False)
        a = fitted.model.diffusion(points)
        mean = a.mean(axis=0)
        assert np.diag(mean) == pytest.approx([1.0, 1.0], abs=3 * 0.08), form
        assert mean[0, 1] == pytest.approx(mean[1, 0], rel=1e-12)  # up to the rounding of a mean
        assert mean[0, 1] == (0 if form is DiagonalFactor else pytest.approx(0.5, abs=3 * 0.08)), form
        assert (np.ptp(a, axis=0) == 0).all() == (form is ConstantFactor)
        assert fitted.history["diffusion"].best >= 0, "training improved on the start"


@pytest.fixture(scope="module")
def jumping_data():
    """The double well in one dimension: f = x − x³, a = 1/4, jumps N(0, 1) at rate 1; 512 trajectories."""
    return DoubleWell(dimension=1).simulate(512, 0, times=STEP * np.arange(ROWS))


@pytest.fixture(scope="module")
def jumping(jumping_data):
    """Some of its states, and the fit."""
    return jumping_data.transitions().x[::37], nke.fit(jumping_data, QUICK, jumps=True, seed=0)


class TestJumps:
    """What χ with κ_sens = 3 lets through: sizes |Δ| of normal noise of sd σ have median 0.67 σ and MAD 0.40 σ, so
    the threshold is 2.45 σ = 0.27. Beyond it lie 78 % of the jumps (0.78 per unit time) and 1.4 % of the calm
    increments (0.28 per unit time); what stays has 0.90 of the noise's variance and the smallest jumps.
    """

    def test_rate(self, jumping):
        """0.78 + 0.28 = 1.06 per unit time, over 384·2 units ± 0.04. The network may read the smaller of them
        as calm: no less than the true jumps among them.
        """
        x, fitted = jumping
        assert 0.78 - 4 * 0.04 < fitted.model.jump_rate(x).mean() < 1.06 + 4 * 0.04

    def test_law(self, jumping):
        """Mean 0; the mean square lies between that of all flagged, about 0.9, and of jumps over 0.27, 1.27.

        800 flagged increments know the mean to 1/√800 = 0.035 and the variance to 7 %.
        """
        x, fitted = jumping
        law = fitted.model.jump_law(x)
        assert abs(law.mean.mean()) < 4 * 0.035
        assert 0.9 * (1 - 4 * 0.07) < law.covariance.mean() < 1.27 * (1 + 4 * 0.07)

    def test_diffusion_without_the_jumps(self, jumping):
        """0.90·0.25 = 0.225, and up to 0.01 from unseen jumps; with all jumps in it, it would be 1.25.

        15,000 increments know it to 1.2 %, packets of 16 take it with a drift that is off by half: s·2·½.
        """
        x, fitted = jumping
        assert fitted.model.diffusion(x).mean() == pytest.approx(0.23, abs=0.23 * (4 * 0.012 + STEP) + 0.005)

    def test_what_was_decided(self, jumping):
        _, fitted = jumping
        assert set(fitted.history) == {"advection", "diffusion", "jumps"}
        assert "of the increments exceed 3 median deviations" in fitted.decided["jumps"]
        assert "of 2" in fitted.decided["components"]
        assert "jumps" in fitted.summary()


# The same and not the same


class TestReproducibility:
    def test_same_seed_same_model(self, data, result):
        again = nke.fit(data, QUICK, jumps=False, seed=0)
        assert numbers(again.model).tobytes() == numbers(result.model).tobytes()
        assert again.model.drift(GRID).tobytes() == result.model.drift(GRID).tobytes()
        for name, curve in result.history.items():
            np.testing.assert_array_equal(again.history[name].held_out, curve.held_out)

    def test_other_seed_other_model(self, data, result):
        other = nke.fit(data, QUICK, jumps=False, seed=1)
        assert (numbers(other.model) != numbers(result.model)).mean() > 0.9

    def test_data_is_left_alone(self):
        states, times = STATES.copy(), STEP * np.arange(ROWS)
        data = Trajectories(states, times)
        nke.fit(data, QUICK, jumps=False)
        assert states.tobytes() == STATES.tobytes() == data.states.tobytes()
        np.testing.assert_array_equal(times, STEP * np.arange(ROWS))
        np.testing.assert_array_equal(data.times, np.tile(times, (TRAJECTORIES, 1)))


class TestUnits:
    @pytest.mark.parametrize(("power", "time_power"), [(-40, 40), (40, -40)])
    def test_powers_of_two_change_no_bit(self, result, power, time_power):
        """2^±40 ≈ 1e±12: scaling by a power of two is exact, so the dimensionless fit is the same fit."""
        scale, unit = 2.0**power, 2.0**time_power
        fitted = nke.fit(Trajectories(STATES * scale, STEP * unit), QUICK, jumps=False).model
        np.testing.assert_array_equal(fitted.drift(GRID * scale), result.model.drift(GRID) * (scale / unit))
        np.testing.assert_array_equal(fitted.diffusion(GRID * scale), result.model.diffusion(GRID) * (scale**2 / unit))

    @pytest.mark.parametrize(("scale", "unit"), [(1e-12, 1e12), (1e12, 1e-12)])
    def test_other_units(self, result, scale, unit):
        """Rounding of the scaled data (1e-16) moves float32 inputs by 6e-8 here and there; 400 steps of training
        let the difference grow, but not beyond 1e-3 of the largest value.
        """
        fitted = nke.fit(Trajectories(STATES * scale, STEP * unit), QUICK, jumps=False).model
        for name, power in (("drift", 1), ("diffusion", 2)):
            truth = getattr(result.model, name)(GRID)
            ours = getattr(fitted, name)(GRID * scale) / scale**power * unit
            np.testing.assert_allclose(ours, truth, rtol=0, atol=1e-3 * np.abs(truth).max())

    def test_shifted_origin(self, result):
        """The origin of states and times is arbitrary: 2^10 keeps almost all digits of the states."""
        moved = Trajectories(STATES + 1024.0, 64.0 + STEP * np.arange(ROWS))
        fitted = nke.fit(moved, QUICK, jumps=False).model
        truth = result.model.drift(GRID)
        np.testing.assert_allclose(fitted.drift(GRID + 1024.0), truth, atol=1e-3 * np.abs(truth).max())

    def test_given_coordinates_are_used(self, data):
        own = Coordinates(np.array([0.5]), np.array([2.0]), 0.1)
        fitted = nke.fit(data, QUICK, jumps=False, coordinates=own).model
        assert fitted.coordinates is own
        assert fitted.diffusion(GRID).mean() == pytest.approx(1.0, abs=0.1)


# What comes back


class TestResult:
    def test_parts(self, result):
        assert isinstance(result, FitResult)
        assert isinstance(result.model, nke.Model)
        assert result.model.names == ("height",)
        assert result.model.units == ("m",)
        assert result.model.step == pytest.approx(STEP)

    def test_history(self, result):
        assert list(result.history) == ["advection", "diffusion"]
        for curve in result.history.values():
            assert curve.steps.tolist() == [200, 400]
            assert np.isfinite(curve.train).all()
            assert np.isfinite(curve.held_out).all()
            assert curve.best in (-1, 0, 1)
            if curve.best >= 0:
                assert curve.held_out[curve.best] == curve.held_out.min()

    def test_timings(self, result):
        timings = result.timings
        assert set(timings) >= {"packets", "advection", "diffusion", "compilation", "total"}
        assert all(seconds >= 0 for seconds in timings.values())
        stages = timings["packets"] + timings["advection"] + timings["diffusion"]
        assert stages <= timings["total"]
        assert timings["compilation"] <= timings["total"]

    def test_summary(self, result):
        text = result.summary()
        for fact in ("height [m]", "step 0.05", "16 neighbours, each time step apart", "400 steps", "held-out loss"):
            assert fact in text, text
        for stage in ("advection", "diffusion", "compilation", "total"):
            assert stage in text

    def test_progress_goes_to_stderr_only(self, data, capfd):
        nke.fit(data, QUICK, jumps=False, progress=True)
        out, err = capfd.readouterr()
        assert out == ""
        assert "advection" in err
        assert "diffusion" in err
        assert "400/400" in err

    def test_silence_without_a_terminal(self, data, capfd):
        nke.fit(data, QUICK, jumps=False)
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("progress", [True, False])
    def test_an_interruption_is_passed_on(self, data, monkeypatch, progress):
        def interrupt(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr(loop_module, "_advance", interrupt)
        before = (sys.stdout, sys.stderr)
        with pytest.raises(KeyboardInterrupt):
            nke.fit(data, QUICK, jumps=False, progress=progress)
        assert (sys.stdout, sys.stderr) == before, "the progress bar gave the streams back"


def _square(factor, arrays, block):
    return jnp.sum(factor.raw**2) + 0 * jnp.sum(arrays)


# Decisions


class TestAreThereJumps:
    """256 trajectories of 41 rows at the system's own step: the truth is known."""

    @pytest.mark.parametrize(
        "system",
        [
            DoubleWell(),
            DoubleWell(dimension=1),
            BimodalJumps(),
            DoubleWell(rate=0),
            BlackScholes(),
            OrnsteinUhlenbeck(),
            GeometricBrownianMotion(),
            CoxIngersollRoss(),
            Lorenz(noise=0.3),
        ],
        ids=str,
    )
    def test_told_from_the_data(self, system):
        data = system.simulate(256, 0, times=system.times[:41])
        found, reason = has_jumps(data.transitions(), Coordinates.zscore(data), np.random.default_rng(0))
        assert found == system.has_jumps
        assert reason.startswith("assumed" if found else "none")

    def test_the_fit_follows(self, untrained, data, jumping_data):
        for recorded, has in ((data, False), (jumping_data, True)):
            untrained.clear()
            fitted = nke.fit(recorded, QUICK, jumps=None)
            assert fitted.model.has_jumps == has
            assert ("jumps" in untrained) == has
            assert fitted.decided["jumps"].startswith("assumed" if has else "none")

    def test_units_do_not_decide(self):
        states = DoubleWell().simulate(256, 0, times=STEP * np.arange(41)).states
        scaled = [Trajectories(states * scale, STEP * unit) for scale, unit in ((1.0, 1.0), (1e-12, 1e12))]
        first, second = (
            has_jumps(data.transitions(), Coordinates.zscore(data), np.random.default_rng(0)) for data in scaled
        )
        assert first == second

    def test_asked_for_none(self, particles_of):
        """jumps=False is taken at its word also where there are some: every increment is used."""
        data = DoubleWell(dimension=1).simulate(TRAJECTORIES, 0, times=STEP * np.arange(21))
        calm = particles_of(data, QUICK, jumps=False)
        assert [len(part.x) for part in calm] == [96 * 20, 32 * 20]

    def test_jumps_are_kept_from_drift_and_diffusion(self, particles_of):
        """Jumps N(0, 1) over noise of sd 0.11: the largest increments are jumps, and are gone."""
        data = DoubleWell(dimension=1).simulate(TRAJECTORIES, 0, times=STEP * np.arange(21))
        moved = np.abs(data.transitions().displacement)
        calm = particles_of(data, QUICK, jumps=True, coordinates=Coordinates(np.zeros(1), np.ones(1), 1.0))
        assert moved.max() > 2
        for part, count in zip(calm, (96 * 20, 32 * 20), strict=True):
            assert 0 < count - len(part.x) < 0.15 * count
            assert float(jnp.abs(part.displacement).max()) < 0.5
            assert not np.asarray(part.jumped).any()


class TestIrregularSteps:
    """Shared times with unequal steps: exact transitions of the same process."""

    @pytest.fixture
    def irregular(self):
        times = np.concatenate([[0.0], np.cumsum(np.random.default_rng(0).uniform(0.02, 0.08, ROWS - 1))])
        return OrnsteinUhlenbeck().simulate(TRAJECTORIES, 0, times=times)

    def test_jumps_are_refused_with_advice(self, irregular):
        with pytest.raises(ValueError, match=r"one common step.*from 0\.0\d+ to 0\.0\d+.*jumps=False"):
            nke.fit(irregular, QUICK, jumps=True)

    def test_a_gap_is_irregular_too(self):
        states = STATES.copy()
        states[3, 5] = np.nan
        with pytest.raises(ValueError, match=r"one common step.*from 0\.05 to 0\.1"):
            nke.fit(Trajectories(states, STEP), QUICK, jumps=True, seed=0)

    def test_without_jumps_they_are_learned_from(self, irregular):
        """Each transition by its own step: the same tolerances as on a regular grid."""
        fitted = nke.fit(irregular, QUICK, jumps=False)
        assert fitted.model.diffusion(GRID).mean() == pytest.approx(1.0, abs=0.1)
        assert -1.4 < np.polyfit(GRID[:, 0], fitted.model.drift(GRID)[:, 0], 1)[0] < -0.5

    def test_undecided_means_none(self, irregular, untrained):
        fitted = nke.fit(irregular, QUICK)
        assert not fitted.model.has_jumps
        assert "the steps differ" in fitted.decided["jumps"]


# Packets


class TestPackets:
    """The second coordinate is the time itself, so that each packet shows what times it mixes."""

    CLOCK = np.broadcast_to(0.01 * np.arange(ROWS)[:, None], (TRAJECTORIES, ROWS, 1))
    CLOCKED = Trajectories(np.concatenate([STATES, CLOCK], axis=-1), STEP)

    def times_mixed(self, parts):
        for part in parts:
            inside = np.stack([p[m] for p, m in zip(np.asarray(part.particles), np.asarray(part.members), strict=True)])
            yield np.ptp(np.asarray(part.x)[inside, 1], axis=-1)

    def test_each_time_step_apart(self, particles_of):
        parts = particles_of(self.CLOCKED, QUICK, jumps=False, coordinates=Coordinates.raw(self.CLOCKED))
        for spread in self.times_mixed(parts):
            assert len(spread) == ROWS - 1
            assert spread.max() == 0

    def test_pooled(self, particles_of):
        pooled = replace(QUICK, pool=True)
        parts = particles_of(self.CLOCKED, pooled, jumps=False, coordinates=Coordinates.raw(self.CLOCKED))
        for spread in self.times_mixed(parts):
            assert np.mean(spread > 0) > 0.99

    @pytest.mark.parametrize("pool", [True, False])
    def test_neighbours_are_cut_to_what_is_held_out(self, particles_of, data, pool):
        """13 of 128 trajectories are held out by default: 32 neighbours at one time step cannot be had."""
        parts = particles_of(data, MomentMatching(neighbours=32, pool=pool), jumps=False)
        assert [part.members.shape[-1] for part in parts] == 2 * [32 if pool else 13]


def test_a_single_long_path():
    """4001 rows, T = 180 after a tenth is held out at its end: the same errors as above."""
    path = OrnsteinUhlenbeck().simulate_states(1, 3, times=STEP * np.arange(4001))[0]
    fitted = nke.fit(Trajectories(path, STEP), replace(QUICK, pool=True, held_out=0.1), jumps=False)
    assert "pooled over time" in fitted.decided["packets"]
    assert fitted.model.diffusion(GRID).mean() == pytest.approx(1.0, abs=0.1)
    assert -1.5 < np.polyfit(GRID[:, 0], fitted.model.drift(GRID)[:, 0], 1)[0] < -0.4


def test_a_constant_coordinate():
    """It is reported, and does not disturb the other one."""
    states = np.concatenate([STATES, np.full_like(STATES, 7.0)], axis=-1)
    with pytest.warns(UserWarning, match="'x2' is constant"):
        fitted = nke.fit(Trajectories(states, STEP), QUICK, jumps=False).model
    x = np.concatenate([GRID, np.full_like(GRID, 7.0)], axis=-1)
    a = fitted.diffusion(x)
    assert a[:, 0, 0].mean() == pytest.approx(1.0, abs=0.1)
    assert np.isfinite(fitted.drift(x)).all()
    # It moves by less than a hundredth of its size in the whole time of the data.
    assert np.abs(fitted.drift(x)[:, 1]).max() * STEP * ROWS < 0.07
    assert np.abs(a[:, 1, 1]).max() * STEP * ROWS < 0.07**2
    paths = fitted.sample(x, STEP * np.arange(3))
    assert np.isfinite(paths).all()


# What is refused


class TestRefusals:
    @pytest.mark.parametrize("wrong", [STATES, [0.0, 1.0], None, "cells.csv", {"states": STATES}])
    def test_other_types(self, wrong):
        plainly = inspect.unwrap(nke.fit)  # without the type checks of the tests, which would come first
        with pytest.raises(TypeError, match=r"nke\.Trajectories.*wrap the arrays"):
            plainly(wrong)

    @pytest.mark.parametrize(
        ("shape", "reason"), [((3, 3, 1), "held-out"), ((20, 1), "held-out"), ((2, 1), "held out")]
    )
    def test_too_little(self, shape, reason):
        states = np.random.default_rng(0).standard_normal(shape)
        with pytest.raises(ValueError, match=reason):
            nke.fit(Trajectories(states, 0.1), MomentMatching())

    def test_too_few_for_the_dimension(self):
        """Six held-out transitions cannot show a covariance in six dimensions."""
        states = np.random.default_rng(0).standard_normal((20, 4, 6))
        with pytest.raises(ValueError, match="6 dimensions"):
            nke.fit(Trajectories(states, 0.1), MomentMatching())

    @pytest.mark.parametrize(
        "options",
        [
            {"neighbours": 1},
            {"components": 0},
            {"width": 0},
            {"depth": 0},
            {"sensitivity": 0.0},
            {"smoothness": -1.0},
            {"held_out": 0.0},
            {"held_out": 1.0},
        ],
    )
    def test_options(self, options):
        with pytest.raises(ValueError, match="expected"):
            MomentMatching(**options)

    @pytest.mark.parametrize(
        "options", [{"steps": 0}, {"learning_rate": 0.0}, {"weight_decay": -1.0}, {"particles": 0}]
    )
    def test_schedules(self, options):
        with pytest.raises(ValueError, match="expected"):
            Schedule(**options)

    def test_divergence_is_an_error(self, data, monkeypatch):
        """A loss that is no number ends in a sentence of advice, not in a model."""
        advance = loop_module._advance
        lost = lambda *arguments, **options: (*advance(*arguments, **options)[:-1], math.nan)  # noqa: E731
        monkeypatch.setattr(loop_module, "_advance", lost)
        with pytest.raises(FloatingPointError, match="learning rate"):
            nke.fit(data, QUICK, jumps=False)


class Number(eqx.Module):
    value: jax.Array


def squared_distance(number: Number, data: jax.Array, i: jax.Array) -> jax.Array:
    return (number.value - data[i]) ** 2


@pytest.mark.parametrize(("bad", "raises"), [(0, False), (2, False), (60, True)])
def test_steps_whose_gradient_is_no_number_are_left_out(bad, raises):
    """The mean of the others is found, within 5 times what the last steps' own batches leave; most of them raise."""
    values = np.random.default_rng(0).normal(3.0, 1.0, size=100).astype(np.float32)
    fine = values[bad:]
    values[:bad] = np.nan
    training, checking = (loop_module.Blocks(jnp.asarray(v), len(v), 1) for v in (values, fine))
    start, schedule = Number(jnp.asarray(0.0)), Schedule(steps=1000, learning_rate=0.05, particles=10, patience=100)
    arguments = squared_distance, start, training, checking, schedule, jax.random.key(0)
    if raises:
        with pytest.raises(FloatingPointError, match="learning rate"):
            loop_module.minimise(*arguments)
        return
    found, _ = loop_module.minimise(*arguments)
    # Parameters are averages over about 100 steps of batches of 10, so that 1000 draws are in them.
    assert abs(float(found.value) - fine.mean()) < 5 / np.sqrt(1000)
