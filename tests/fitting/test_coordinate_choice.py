"""Logarithms are taken where they predict better, and the evidence says by how much."""

from copy import copy

import numpy as np
import pytest

from nke.data import Coordinates, Trajectories
from nke.data.transforms import Log, Periodic, Plain
from nke.fitting import SelectionRules
from nke.fitting.coordinate_choice import Comparison, angle_hints, choose_coordinates, wrapped_angles
from nke.fitting.initial_moments import TransitionSample
from nke.fitting.smooth_regression import SmoothRegression
from nke.systems import CoxIngersollRoss, GeometricBrownianMotion, OrnsteinUhlenbeck, PeriodicPotential, PredatorPrey

RULES = SelectionRules()
GAIN = "gain of the logarithm in nats per transition"


def chosen(data, known=None, fixed=()):
    return choose_coordinates(data, known or {}, fixed, seed=0, rules=RULES)


def shifted(data, scale, shift):
    return Trajectories(scale * np.asarray(data.states) + shift, np.asarray(data.times))


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (GeometricBrownianMotion(volatility=0.6).simulate(64, seed=0), (Log(),)),
        (GeometricBrownianMotion(volatility=1.5).simulate(64, seed=0), (Log(),)),
        (PredatorPrey().simulate(128, seed=0), (Log(), Log())),
        (shifted(OrnsteinUhlenbeck().simulate(64, seed=0), 1.0, 50.0), (Plain(),)),
        (shifted(OrnsteinUhlenbeck().simulate(64, seed=0), 0.2, 1.0), (Plain(),)),
        (CoxIngersollRoss().simulate(64, seed=0), (Plain(),)),
    ],
    ids=[
        "geometric Brownian motion",
        "its long tail",
        "predator and prey",
        "far above zero",
        "close to zero",
        "square root",
    ],
)
def test_known_laws(data, columns):
    found, (decision, *_) = chosen(data)
    assert found == columns
    assert decision.topic == "coordinates"
    gain = decision.evidence[data.names[0]][GAIN]
    assert (gain.value > 2 * gain.error) == (columns[0] == Log())


def test_gain_is_that_of_the_exact_densities():
    """Of a geometric Brownian motion: log-normal against the best Gaussian with the same mean and variance.

    To leading order the negentropy of the skewness 3σ√s is skewness²/12.
    """
    volatility, step = 0.4, 0.1
    system = GeometricBrownianMotion(volatility=volatility)
    data = system.simulate(2000, seed=1, times=np.arange(6) * step)
    gain = chosen(data)[1][0].evidence["price"][GAIN]
    assert gain.value == pytest.approx((3 * volatility) ** 2 * step / 12, rel=0.3)
    assert gain.error < 0.2 * gain.value


def test_one_long_path_is_cut_into_parts():
    logarithm = OrnsteinUhlenbeck().simulate(1, seed=0, times=np.arange(4001) * 0.1)
    assert chosen(Trajectories(np.exp(logarithm.states), logarithm.times))[0] == (Log(),)


def test_columns_that_are_known_or_fixed_are_left_alone():
    data = PredatorPrey().simulate(128, seed=0)
    assert chosen(data, {"prey": Plain()})[0] == (Plain(), Log())
    assert chosen(data, fixed=["predator"])[0] == (Log(), Plain())


def test_jumps_to_one_side_do_not_hide_a_logarithm():
    """A population that halves in catastrophes, with noise in proportion to it: alike everywhere in its logarithm.

    Jumps of mean −0.7 every 25 steps had moved the mean of the calm motions by half of their deviation.
    """
    rng = np.random.default_rng(0)
    log, states = rng.normal(0, 0.5, 100), []
    for _ in range(100):
        states.append(np.exp(log))
        log = log + 0.1 * (0.3 - log) + 0.06 * rng.normal(size=100) + np.log(0.5) * (rng.random(100) < 0.04)
    data = Trajectories(np.stack(states, axis=1)[..., None], 0.1, names=["size"])
    found, (decision, *_) = chosen(data)
    assert found == (Log(),)
    assert decision.evidence["size"][GAIN].value > 2 * decision.evidence["size"][GAIN].error


def test_a_wandering_column_is_no_angle():
    """A random walk over several turns: nothing depends on its cosine and sine, so that they must not be gained by."""
    walk = np.cumsum(np.random.default_rng(0).normal(0, 0.6, (4, 250)), axis=1)
    assert np.ptp(walk) > 3 * np.pi
    assert chosen(Trajectories(walk[..., None], 1.0))[0] == (Plain(),)


def test_nothing_to_decide():
    found, (decision, *_) = chosen(OrnsteinUhlenbeck().simulate(16, seed=0))
    assert found == (Plain(),)
    assert (decision.answer, decision.evidence) == ("those of the data", {})


def test_a_wrapped_angle_of_an_unusual_period_is_suggested():
    walk = np.cumsum(np.random.default_rng(0).normal(0.2, 0.2, (8, 300)), axis=1)
    states = np.stack([np.mod(walk, 5.0), walk], axis=-1)
    (hint,) = angle_hints(Trajectories(states, 0.1, names=["wrapped", "counting"]), {})
    assert hint.evidence["wrapped"] == pytest.approx(5.0, rel=0.01)
    assert hint.answer.startswith("wrapped may be wrapped: if so, say periodic={'wrapped': ")
    assert angle_hints(OrnsteinUhlenbeck().simulate(16, seed=0), {}) == []


class TestWrappedAngles:
    WALK = np.cumsum(np.random.default_rng(0).normal(0.05, 0.2, (8, 300)), axis=1)

    def of(self, states: np.ndarray) -> dict[str, float]:
        return wrapped_angles(Trajectories(states[..., None], 0.1, names=["a"]), set())

    @pytest.mark.parametrize("period", [2 * np.pi, 360.0, 24.0, 12.0])
    def test_at_a_usual_period_are_found(self, period):
        turning = self.WALK * period / (2 * np.pi)
        assert self.of(turning % period) == {"a": period}
        assert self.of((turning + period / 2) % period - period / 2) == {"a": period}

    def test_in_whole_degrees_are_found(self):
        assert self.of(np.floor(self.WALK * 180 / np.pi % 360)) == {"a": 360.0}

    def test_a_state_that_is_reset_from_anywhere_is_none(self):
        """From 0 to 360 upwards, and back to the start after random times: half-way jumps lie in between."""
        rng = np.random.default_rng(0)
        states = np.array(
            [np.concatenate([np.linspace(0, 360 * rng.random(), 30) for _ in range(10)]) for _ in range(8)]
        )
        states[0, :30] = np.linspace(0, 360, 30)
        assert self.of(states) == {}

    def test_switching_between_two_states_is_none(self):
        rng = np.random.default_rng(0)
        switched = np.cumsum(rng.random((8, 300)) < 0.05, axis=1) % 2
        assert self.of(np.clip(switched * 360 + rng.normal(0, 20, switched.shape), 0, 360)) == {}

    def test_are_learned_as_angles(self):
        columns, (decision, *_) = chosen(Trajectories((self.WALK % (2 * np.pi))[..., None], 0.1, names=["a"]))
        assert columns == (Periodic(2 * np.pi, 0.0),)
        assert decision.answer == "a as an angle"

    def test_are_left_alone_where_the_user_named_the_angles(self):
        data = Trajectories((self.WALK % (2 * np.pi))[..., None], 0.1, names=["a"])
        columns, decisions = choose_coordinates(data, {}, (), 0, RULES, angles=False)
        assert columns == (Plain(),)
        assert "periodic" in decisions[-1].answer


def test_a_column_that_goes_round_is_an_angle_where_that_gains_evidence():
    """A potential of period 2π over several turns; a walk over as many turns whose law knows no period stays plain."""
    columns, decisions = chosen(PeriodicPotential().simulate(128, seed=5))
    assert isinstance(columns[0], Periodic)
    assert decisions[0].evidence["x as an angle"]["nats of evidence gained"] > SelectionRules().evidence_gain
    walk = OrnsteinUhlenbeck().simulate(128, seed=5)
    columns, decisions = chosen(shifted(walk, 10.0, 0.0))
    assert isinstance(columns[0], Plain)
    gain = decisions[0].evidence["x1"]["gain of cosine and sine in nats per transition"]
    assert gain.value < -RULES.coordinate_gain_errors * gain.error


def test_jumps_do_not_hide_that_a_price_is_a_logarithm():
    """Merton's prices: noise and downward jumps in proportion, which pass for an asymmetric noise of the logarithm."""
    rng = np.random.default_rng(0)
    noise = 0.2 * np.sqrt(1 / 252) * rng.normal(size=(100, 252))
    jumps = (rng.random((100, 252)) < 3 / 252) * rng.normal(-0.08, 0.06, (100, 252))
    states = rng.uniform(50, 150, (100, 1)) * np.exp(np.cumsum(noise + jumps, axis=1))
    columns, decisions = chosen(Trajectories(states[..., None], 1 / 252, names=["price"]))
    assert columns == (Log(),)
    assert decisions[0].evidence["log price"]["nats of evidence gained"] > RULES.evidence_gain


def test_motion_without_noise_is_not_compared():
    """Positions of a constant velocity move over several turns, but their densities say nothing about angles."""
    velocity = np.random.default_rng(0).uniform(1, 3, (40, 1))
    positions = velocity * np.arange(0, 10, 0.1)
    data = Trajectories(np.stack([positions, np.broadcast_to(velocity, positions.shape)], axis=-1), 0.1)
    columns, _ = chosen(data)
    assert columns == (Plain(), Plain())


class TestPricesOfChangingVolatility:
    """Volatility that is recorded nowhere: neither a price nor its logarithm has noise of the same size everywhere."""

    @staticmethod
    def path(pull: float) -> Trajectories:
        """d log p = pull (log 100 − log p) dt + σ dW, σ a process of its own with a memory of 80 steps."""
        rng, price, size, rows = np.random.default_rng(3), 0.0, 0.0, []
        for _ in range(4000):
            rows.append(100 * np.exp(price))
            size += -size / 80 + 0.5 * np.sqrt(2 / 80) * rng.normal()
            price += -pull * price + 0.012 * np.exp(size) * rng.normal()
        return Trajectories(rows, 1.0, names=["price"])

    def test_one_that_returns_to_no_mean_is_a_logarithm(self):
        columns, _ = chosen(self.path(0.0))
        assert columns == (Log(),)

    def test_wild_times_are_no_noise_of_the_state(self):
        """By independent transitions the price would look like noise that depends on its level."""
        data = self.path(0.0)
        coordinates = Coordinates.zscore(data, (Log(),))
        inner = data.transformed((Log(),))
        sample = TransitionSample(inner.transitions(), coordinates.of_transformed(), None, RULES.near_zero)
        found = SmoothRegression.of(sample, np.ones(len(sample.x)), degree=3, seed=0)
        assert found.independent < 0.2
        assert not found.state_dependent_noise
        scattered = copy(sample)
        scattered.trajectory = np.arange(len(sample.x))  # as if no two transitions had been neighbours
        assert SmoothRegression.of(scattered, np.ones(len(sample.x)), degree=3, seed=0).state_dependent_noise


def test_the_statistic_of_dickey_and_fuller_is_that_of_statsmodels():
    """adfuller(path, maxlag=0, regression="c") of statsmodels 0.14, which divides by two less than there are steps."""
    path = np.cumsum(np.random.default_rng(0).normal(size=500)) + 100
    found = Comparison.of(Trajectories(path, 1.0), 0, RULES).unit_root(0)
    assert found * np.sqrt(497 / 499) == pytest.approx(-1.0742200839897338, rel=1e-6)
