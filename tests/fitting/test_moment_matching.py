"""Moment matching from end to end on small data with known truth."""

import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.data import Coordinates, Trajectories
from nke.fitting import MomentMatching, Trainer
from nke.systems import DoubleWell, OrnsteinUhlenbeck
from stationary_paths import GRID, MOMENTS, ROWS, STATES, STEP, TRAJECTORIES, stationary


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
            nke.fit(*arguments, **options, diagnosis=False)
        return caught.value.args[0]

    monkeypatch.setattr(Trainer, "train", stop)
    return run


class TestOrnsteinUhlenbeck:
    """f = −x, a = 1; 96 training trajectories over 2 time units, that is T = 192."""

    def test_diffusion(self, moment_fit):
        """The mean of a over 3840 squared increments has a standard error of √(2/3840) = 2.3 %: 10 % is four."""
        assert moment_fit.model.diffusion(GRID).mean() == pytest.approx(1.0, abs=0.1)

    def test_drift(self, moment_fit):
        """The slope has a standard error of √(2/T) = 0.10 and a bias of 1/κ = 0.06 towards zero (DESIGN 4.2);
        early stopping takes some more. Asserted: its sign beyond doubt, its size within four of these.
        """
        slope, offset = np.polyfit(GRID[:, 0], moment_fit.model.drift(GRID)[:, 0], 1)
        assert -1.4 < slope < -0.5
        assert abs(offset) < 4 * 1 / math.sqrt(192)

    def test_no_jumps(self, moment_fit):
        assert not moment_fit.model.has_jumps
        assert (moment_fit.model.jump_rate(GRID) == 0).all()

    def test_the_model_simulates_the_data(self, moment_fit):
        """The stationary variance 1/2 of 128 trajectories, at the last time: sd of the estimate √(2/128)/2."""
        paths = moment_fit.model.sample(STATES[:, 0], STEP * np.arange(ROWS), seed=1)
        assert paths.shape == STATES.shape
        # The slope's own uncertainty moves the variance a/(2θ) by its relative error.
        assert paths[:, -1].var() == pytest.approx(0.5, abs=4 * 0.5 * math.hypot(math.sqrt(2 / 128), 0.15))


@pytest.mark.validation
def test_correlated_noise_by_every_form_of_diffusion():
    """a = [[1, ½], [½, 1]]. Full and constant factors find it; a diagonal one can only find its diagonal.

    Covariances grow by s·a + 2 Cov(x − μ̃, noise): with packets as wide as Σ ≈ 0.3 the second term rules the
    standard error, √(4 Σ a/(s n)) = 0.08 for n = 3840 increments. Seeds 0 to 3 spread by that much.
    """
    states = stationary(2, correlation=0.5)
    points = states[:, ::10].reshape(-1, 2)
    for form in ("plain", "diagonal", "constant"):
        fitted = nke.fit(Trajectories(states, STEP), replace(MOMENTS, noise=form), jumps=False, diagnosis=False)
        a = fitted.model.diffusion(points)
        mean = a.mean(axis=0)
        assert np.diag(mean) == pytest.approx([1.0, 1.0], abs=3 * 0.08), form
        assert mean[0, 1] == pytest.approx(mean[1, 0], rel=1e-12)  # up to the rounding of a mean
        assert mean[0, 1] == (0 if form == "diagonal" else pytest.approx(0.5, abs=3 * 0.08)), form
        assert (np.ptp(a, axis=0) == 0).all() == (form == "constant")
        assert fitted.history["diffusion"].best >= 0, "training improved on the start"


@pytest.fixture(scope="module")
def jumping_data():
    """The double well in one dimension: f = x − x³, a = 1/4, jumps N(0, 1) at rate 1; 512 trajectories."""
    return DoubleWell(dimension=1).simulate(512, 0, times=STEP * np.arange(ROWS))


@pytest.fixture(scope="module")
def jumping(jumping_data):
    """Some of its states, and the fit."""
    return jumping_data.transitions().x[::37], nke.fit(jumping_data, MOMENTS, jumps=True, seed=0, diagnosis=False)


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
        decision = fitted.decision("jumps")
        assert decision.answer == "yes, as asked"
        assert 0.03 < decision.evidence["share of increments beyond 3 median deviations"] < 0.08
        assert fitted.decision("components").evidence["tried"] == 2
        assert "jumps" in fitted.summary()


class TestAreThereJumps:
    def test_the_fit_follows(self, untrained, stationary_data, jumping_data):
        for recorded, has in ((stationary_data, False), (jumping_data, True)):
            untrained.clear()
            fitted = nke.fit(recorded, MOMENTS, jumps=None, diagnosis=False)
            assert fitted.model.has_jumps == has
            assert ("jumps" in untrained) == has
            assert fitted.decision("jumps").answer.startswith("assumed" if has else "none")

    def test_asked_for_none(self, particles_of):
        """jumps=False is taken at its word also where there are some: every increment is used."""
        data = DoubleWell(dimension=1).simulate(TRAJECTORIES, 0, times=STEP * np.arange(21))
        calm = particles_of(data, MOMENTS, jumps=False)
        assert [len(part.x) for part in calm] == [96 * 20, 32 * 20]

    def test_jumps_are_kept_from_drift_and_diffusion(self, particles_of):
        """Jumps N(0, 1) over noise of sd 0.11: the largest increments are jumps, and are gone."""
        data = DoubleWell(dimension=1).simulate(TRAJECTORIES, 0, times=STEP * np.arange(21))
        moved = np.abs(data.transitions().displacement)
        calm = particles_of(data, MOMENTS, jumps=True, coordinates=Coordinates(np.zeros(1), np.ones(1), 1.0))
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
            nke.fit(irregular, MOMENTS, jumps=True, diagnosis=False)

    def test_a_gap_is_irregular_too(self):
        states = STATES.copy()
        states[3, 5] = np.nan
        with pytest.raises(ValueError, match=r"one common step.*from 0\.05 to 0\.1"):
            nke.fit(Trajectories(states, STEP), MOMENTS, jumps=True, seed=0, diagnosis=False)

    def test_without_jumps_they_are_learned_from(self, irregular):
        """Each transition by its own step: the same tolerances as on a regular grid."""
        fitted = nke.fit(irregular, MOMENTS, jumps=False, diagnosis=False)
        assert fitted.model.diffusion(GRID).mean() == pytest.approx(1.0, abs=0.1)
        assert -1.4 < np.polyfit(GRID[:, 0], fitted.model.drift(GRID)[:, 0], 1)[0] < -0.5

    def test_undecided_means_none(self, irregular, untrained):
        fitted = nke.fit(irregular, MOMENTS, diagnosis=False)
        assert not fitted.model.has_jumps
        decision = fitted.decision("jumps")
        assert "the steps differ" in decision.answer
        assert decision.evidence["shortest step"] < decision.evidence["longest step"]


class TestPackets:
    """The second coordinate is the time itself, so that each packet shows what times it mixes."""

    CLOCK = np.broadcast_to(0.01 * np.arange(ROWS)[:, None], (TRAJECTORIES, ROWS, 1))
    CLOCKED = Trajectories(np.concatenate([STATES, CLOCK], axis=-1), STEP)

    def times_mixed(self, parts):
        for part in parts:
            inside = np.stack([p[m] for p, m in zip(np.asarray(part.particles), np.asarray(part.members), strict=True)])
            yield np.ptp(np.asarray(part.x)[inside, 1], axis=-1)

    def test_each_time_step_apart(self, particles_of):
        parts = particles_of(self.CLOCKED, MOMENTS, jumps=False, coordinates=Coordinates.raw(self.CLOCKED))
        for spread in self.times_mixed(parts):
            assert len(spread) == ROWS - 1
            assert spread.max() == 0

    def test_pooled(self, particles_of):
        pooled = replace(MOMENTS, pool=True)
        parts = particles_of(self.CLOCKED, pooled, jumps=False, coordinates=Coordinates.raw(self.CLOCKED))
        for spread in self.times_mixed(parts):
            assert np.mean(spread > 0) > 0.99

    @pytest.mark.parametrize("pool", [True, False])
    def test_neighbours_are_cut_to_what_is_held_out(self, particles_of, stationary_data, pool):
        """13 of 128 trajectories are held out by default: 32 neighbours at one time step cannot be had."""
        parts = particles_of(stationary_data, MomentMatching(neighbours=32, pool=pool), jumps=False)
        assert [part.members.shape[-1] for part in parts] == 2 * [32 if pool else 13]


def test_a_single_long_path():
    """4001 rows, T = 180 after a tenth is held out at its end: the same errors as above."""
    path = OrnsteinUhlenbeck().simulate_states(1, 3, times=STEP * np.arange(4001))[0]
    fitted = nke.fit(Trajectories(path, STEP), replace(MOMENTS, pool=True, held_out=0.1), jumps=False, diagnosis=False)
    assert fitted.decision("packets").answer == "16 neighbours, pooled over time"
    assert fitted.model.diffusion(GRID).mean() == pytest.approx(1.0, abs=0.1)
    assert -1.5 < np.polyfit(GRID[:, 0], fitted.model.drift(GRID)[:, 0], 1)[0] < -0.4


def test_a_constant_coordinate():
    """It is reported, and does not disturb the other one."""
    states = np.concatenate([STATES, np.full_like(STATES, 7.0)], axis=-1)
    with pytest.warns(UserWarning, match="'x2' is constant"):
        fitted = nke.fit(Trajectories(states, STEP), MOMENTS, jumps=False, diagnosis=False).model
    x = np.concatenate([GRID, np.full_like(GRID, 7.0)], axis=-1)
    a = fitted.diffusion(x)
    assert a[:, 0, 0].mean() == pytest.approx(1.0, abs=0.1)
    assert np.isfinite(fitted.drift(x)).all()
    # It moves by less than a hundredth of its size in the whole time of the data.
    assert np.abs(fitted.drift(x)[:, 1]).max() * STEP * ROWS < 0.07
    assert np.abs(a[:, 1, 1]).max() * STEP * ROWS < 0.07**2
    paths = fitted.sample(x, STEP * np.arange(3))
    assert np.isfinite(paths).all()


class TestRefusals:
    @pytest.mark.parametrize(
        ("shape", "reason"), [((3, 3, 1), "held-out"), ((20, 1), "held-out"), ((2, 1), "held out")]
    )
    def test_too_little(self, shape, reason):
        states = np.random.default_rng(0).standard_normal(shape)
        with pytest.raises(ValueError, match=reason):
            nke.fit(Trajectories(states, 0.1), MomentMatching(), diagnosis=False)

    def test_too_few_for_the_dimension(self):
        """Six held-out transitions cannot show a covariance in six dimensions."""
        states = np.random.default_rng(0).standard_normal((20, 4, 6))
        with pytest.raises(ValueError, match="6 dimensions"):
            nke.fit(Trajectories(states, 0.1), MomentMatching(), diagnosis=False)

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
            {"noise": "relative"},
        ],
    )
    def test_options(self, options):
        with pytest.raises(ValueError, match="expected"):
            MomentMatching(**options)


@pytest.fixture(scope="module")
def flown():
    """Positions and velocities; V jumps by N(−v/2, 0.3²) at rate 2 and rests between: 256 paths of 40 steps of 0.05."""
    rng = np.random.default_rng(0)
    v, x, rows = rng.standard_normal(256) / 2, np.zeros(256), []
    for _ in range(41):
        rows.append(np.stack([x, v], axis=-1))
        kicked = rng.random(256) < -np.expm1(-2 * STEP)
        new = np.where(kicked, v / 2 + 0.3 * rng.standard_normal(256), v)
        x, v = x + STEP * (v + new) / 2, new
    return Trajectories(np.stack(rows, axis=1), STEP, names=("x", "v"))


class TestPositions:
    """Flat packets: no noise anywhere, all positions at 0 at first, and velocities that are recorded several times."""

    def fitted(self, flown, **options):
        method = replace(MOMENTS, pool=True, components=1, **options)
        return nke.fit(flown, method, jumps=True, diagnosis=False)

    def test_known_positions(self, flown):
        """Some 700 jumps know the rate to 1/√700 = 4 % and the slope of their mean, −1/2, to 0.3/√(700·0.16) = 0.03.

        The position moves by its velocity alone, and where it is does not matter.
        """
        learned = self.fitted(flown, kinetic={"x": "v"}, invariant=["x"])
        states = flown.transitions().x[::50]
        assert learned.model.jump_rate(states).mean() == pytest.approx(2.0, rel=4 * 0.04)
        law = learned.model.jump_law(states)
        np.testing.assert_allclose(np.asarray(law.mean)[:, 0], 0.0, atol=1e-12)
        slope = np.polyfit(states[:, 1], np.asarray(law.mean)[:, 1], 1)[0]
        assert slope == pytest.approx(-0.5, abs=4 * 0.03)
        np.testing.assert_allclose(learned.model.drift(states)[:, 0], states[:, 1], rtol=1e-5)
        assert np.abs(learned.model.diffusion(states)).max() < 1e-4
        elsewhere = states + np.array([5.0, 0.0])
        np.testing.assert_allclose(learned.model.jump_rate(elsewhere), learned.model.jump_rate(states), rtol=1e-5)

    def test_a_law_with_positions_is_saved(self, untrained, flown, tmp_path):
        model = self.fitted(flown, kinetic={"x": "v"}).model
        model.save(tmp_path / "law.nke")
        states = flown.transitions().x[:5]
        again = nke.load(tmp_path / "law.nke")
        np.testing.assert_array_equal(again.jump_rate(states), model.jump_rate(states))
        assert np.isfinite(again.sample(states, STEP * np.arange(3))).all()

    def test_positions_are_found(self, untrained, flown):
        learned = self.fitted(flown)
        assert learned.decision("positions").evidence == {"x": "v"}
        assert learned.model.generator.constraint.positions == (0,)

    def test_all_alike(self, untrained, flown):
        """Positions and velocities as any coordinates: the losses that training gets are finite all the same."""
        self.fitted(flown, kinetic={})
        loss, network, (training, _) = untrained["jumps"]
        blocks = jnp.arange(training.blocks)
        assert np.isfinite([float(loss(network, training.arrays, block)) for block in blocks[:3]]).all()

    def test_names_that_are_not_there(self, flown):
        """The same words as with the likelihood."""
        said = []
        for method in (replace(MOMENTS, kinetic={"x": "w"}), nke.Likelihood(kinetic={"x": "w"})):
            with pytest.raises(ValueError, match="kinetic names 'w', but the coordinates are 'x', 'v'") as error:
                nke.fit(flown, method, diagnosis=False)
            said.append(str(error.value))
        assert said[0] == said[1]

    def test_angles_are_refused(self, flown):
        with pytest.raises(ValueError, match="knows of angles"):
            nke.fit(flown, MOMENTS, periodic=["x"], diagnosis=False)
