"""The Kolmogorov likelihood: unbiased where the paper's losses are not, any steps, any data, one discrete model."""

from dataclasses import replace

import numpy as np
import pytest

import nke
from nke.fitting import CHUNK, Likelihood, Schedule, SelectionRules
from nke.fitting.likelihood import default_schedule
from nke.systems import BimodalJumps, DoubleWell, OrnsteinUhlenbeck
from random_generators import total_mass

QUICK = Likelihood(  # the training alone; what Newton's method adds: laws/test_networks.py, test_polished_networks.py
    networks=True,
    polish=False,
    noise="plain",
    components=1,
    width=16,
    depth=1,
    schedule=Schedule(steps=2 * CHUNK, particles=256),
)


class TestOptions:
    @pytest.mark.parametrize(
        "options",
        [
            {"noise": "loud"},
            {"substeps": 0},
            {"substeps": 99},
            {"components": -1},
            {"components": 0},
            {"jump_shapes": "round"},
            {"width": 0},
            {"depth": 0},
            {"held_out": 0.0},
            {"held_out": 1.0},
        ],
    )
    def test_wrong_ones_are_refused(self, options):
        with pytest.raises(ValueError, match="expected"):
            Likelihood(**options)

    def test_noise_that_needs_networks_is_refused_without_them(self):
        with pytest.raises(ValueError, match="networks=False goes with noise constant or relative"):
            Likelihood(networks=False, noise="plain")

    @pytest.mark.parametrize(
        ("transitions", "steps", "decay"),
        [(1e3, 1000, 1.0), (3.2e3, 1000, 0.84), (1e5, 3000, 0.15), (1e7, 3000, 0.015)],
    )
    def test_little_data_is_learned_in_fewer_steps_with_more_decay(self, transitions, steps, decay):
        schedule = default_schedule(3, int(transitions), SelectionRules())
        assert schedule.steps == steps
        assert schedule.weight_decay == pytest.approx(decay, rel=0.01)
        assert default_schedule(1, int(transitions), SelectionRules()).steps <= steps


@pytest.mark.validation
@pytest.mark.parametrize("step", [0.02, 0.2])
def test_the_slope_of_ornstein_uhlenbeck_is_not_attenuated(step):
    """512 × 100 stationary transitions: the least-squares slope has standard error √(2/(n s)) ≈ 0.04 / 0.014.

    Four of them are allowed for, and the network's own error.
    """
    data = OrnsteinUhlenbeck().simulate(512, seed=1, times=np.arange(101) * step)
    model = nke.fit(
        data, replace(QUICK, schedule=Schedule(steps=400, particles=1024)), jumps=False, seed=0, diagnosis=False
    ).model
    x = np.linspace(-1, 1, 41)[:, None]
    slope = np.polyfit(x[:, 0], model.drift(x)[:, 0], 1)[0]
    assert slope == pytest.approx(-1, abs=4 * np.sqrt(2 / (512 * 100 * step)) + 0.02)


def test_in_the_plane_densities_integrate_to_one_and_do_not_beat_the_truth(correlated_fit):
    """Pure noise N(0, C) a step, C = [[1, 0.6], [0.6, 4]], on fresh steps."""
    covariance, model = np.array([[1.0, 0.6], [0.6, 4.0]]), correlated_fit.model
    truth = nke.GaussianMixture(np.ones(1), np.zeros((1, 2)), covariance[None])
    moved = np.random.default_rng(9).multivariate_normal(np.zeros(2), covariance, size=1000)
    gain = model.log_prob(moved, given=np.zeros_like(moved), step=1.0) - truth.log_prob(moved)
    assert gain.mean() < 2 * gain.std() / np.sqrt(len(gain))
    for step in (1.0, 10.0):
        assert total_mass(model.transition(np.ones(2), step)) == pytest.approx(1, abs=0.01)


@pytest.fixture(scope="module")
def well() -> nke.Trajectories:
    return DoubleWell(dimension=1).simulate(96, seed=2, times=np.arange(31) * 0.05)


@pytest.fixture(scope="module")
def well_fit(well) -> nke.FitResult:
    return nke.fit(well, QUICK, jumps=True, seed=0, diagnosis=False)


def assert_densities(model: nke.Model, system, seed: int) -> None:
    """They integrate to one on and off the data, also ten steps ahead, and predict no better than the true law."""
    for x in (0.0, 1.0, 4.0):
        for step in (0.05, 0.5):
            assert total_mass(model.transition(np.full(system.dimension, x), step)) == pytest.approx(1, abs=0.01)
    seen = system.simulate(64, seed=seed, times=np.arange(21) * 0.05).transitions()
    gain = model.log_prob(seen.y, given=seen.x, step=seen.step) - system.log_prob(seen.y, given=seen.x, step=seen.step)
    assert gain.mean() < 2 * gain.std() / np.sqrt(len(gain))


class TestWithJumps:
    def test_densities_integrate_to_one_and_do_not_beat_the_truth(self, well_fit):
        assert_densities(well_fit.model, DoubleWell(dimension=1), 5)

    def test_score_is_the_training_loss_in_physical_units(self, well, well_fit):
        """One discrete model: the held-out loss is minus the score, up to the change of units."""
        curve = well_fit.history["likelihood"]
        volume = np.log(well_fit.model.coordinates.scale).sum()
        score = well_fit.model.score(well.split(QUICK.held_out, 0)[1])
        assert score == pytest.approx(-curve.held_out[curve.best] - volume, abs=1e-4)
        assert well_fit.score.value == pytest.approx(score, abs=1e-4)
        assert well_fit.decision("jump rate").evidence["jumps per step"] == pytest.approx(0.05, rel=0.5)

    def test_irregular_steps(self, well):
        """Two of five rows dropped at random: the fit takes each transition's own step, and finds the jumps."""
        rng = np.random.default_rng(0)
        kept = [np.sort(rng.permutation(51)[:31]) for _ in range(96)]  # as many rows as ``well``: compiled once
        whole = DoubleWell(dimension=1).simulate(96, seed=2, times=np.arange(51) * 0.05)
        states = [path[rows] for path, rows in zip(np.asarray(whole.states), kept, strict=True)]
        model = nke.fit(nke.Trajectories(states, [0.05 * rows for rows in kept]), QUICK, seed=0, diagnosis=False).model
        assert model.has_jumps
        assert model.jump_rate(np.zeros(1)) == pytest.approx(1.0, abs=4 / np.sqrt(96 * 2.4) + 0.2)
        assert np.isfinite(model.score(well))

    @pytest.mark.validation
    def test_two_components_in_the_plane(self, tmp_path):
        system = BimodalJumps()
        data = system.simulate(128, seed=0, times=np.arange(41) * 0.05)
        schedule = Schedule(steps=CHUNK, particles=256)
        method = Likelihood(networks=True, noise="constant", components=2, width=16, depth=1, schedule=schedule)
        model = nke.fit(data, method, jumps=True, seed=0, diagnosis=False).model
        model.save(tmp_path / "bimodal.nke")
        again = nke.load(tmp_path / "bimodal.nke")
        x = np.asarray(data.states)[:, 3]
        assert model.jump_law(x).components == 2
        for name in ("drift", "diffusion", "jump_rate"):
            np.testing.assert_array_equal(getattr(again, name)(x), getattr(model, name)(x))
        for step in (0.05, 0.5):
            assert total_mass(model.transition(np.ones(2), step)) == pytest.approx(1, abs=0.01)

    def test_shapes_that_depend_on_the_state(self, tmp_path):
        """Every jump leads to the other side of zero, half as far: its mean is −3x/2, its standard deviation 0.2.

        It comes at any time of the step, until which x' = −x has moved the state, and after which it goes on.
        """
        rng, n, step = np.random.default_rng(5), 8000, 0.05
        x, before = rng.uniform(-2, 2, n), np.exp(-step * rng.random(n))
        jump = np.where(rng.random(n) < 0.15, -1.5 * before * x + 0.2 * rng.normal(size=n), 0.0)
        y = np.exp(-step) / before * (before * x + jump) + 0.1 * np.sqrt(step) * rng.normal(size=n)
        data = nke.Trajectories(np.stack([x, y], axis=1)[..., None], np.array([0.0, step]))
        method = replace(QUICK, noise="constant", jump_shapes="state-dependent")
        result = nke.fit(data, replace(method, schedule=Schedule(600, particles=256)), jumps=True, diagnosis=False)
        result.model.save(tmp_path / "m.nke")
        at = np.array([[-1.5], [-0.75], [0.75], [1.5]])
        law = nke.load(tmp_path / "m.nke").jump_law(at)
        # 1200 jumps, a quarter of them near each state: the mean there is known to 0.2/√300 ≈ 0.012, plus what the
        # network smooths away.
        np.testing.assert_allclose(law.means[:, 0, 0], -1.5 * at[:, 0], atol=0.1)
        np.testing.assert_allclose(np.sqrt(law.covariances[:, 0, 0, 0]), 0.2, atol=0.06)
        assert result.decision("jump law").answer == "1 Gaussian, shapes depending on the state"


@pytest.mark.parametrize(
    "case", ["near constant", "pure drift", "pure jumps", "single short path", "step far too coarse"]
)
def test_hard_data_gives_a_finite_model_or_a_clear_refusal(case):
    rng = np.random.default_rng(0)
    states, step = {
        "near constant": (1.0 + 1e-9 * rng.normal(size=(40, 30, 1)).cumsum(axis=1), 0.1),
        "pure drift": (np.exp(-np.linspace(0, 2, 30))[None, :, None] * rng.normal(size=(40, 1, 1)), 0.1),
        "pure jumps": ((rng.random((40, 30, 1)) < 0.1).cumsum(axis=1).astype(float), 0.1),
        "single short path": (rng.normal(size=(8, 1)).cumsum(axis=0), 0.1),
        "step far too coarse": (rng.normal(size=(40, 30, 1)), 50.0),
    }[case]
    data = nke.Trajectories(states, step)
    if case == "single short path":
        with pytest.raises(ValueError, match=r"expected|too short|fewer"):
            nke.fit(data, QUICK, seed=0, diagnosis=False)
        return
    model = nke.fit(data, QUICK, seed=0, diagnosis=False).model
    x = np.asarray(states).reshape(-1, 1)[:50]
    for value in (model.drift(x), model.diffusion(x), model.jump_rate(x)):
        assert np.isfinite(value).all()
