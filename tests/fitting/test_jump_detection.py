"""Are there jumps? Told from the data where the truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from nke.data import Coordinates, Trajectories
from nke.fitting import SelectionRules
from nke.fitting.jump_detection import decide_jumps, detect_jumps, find_jumps
from nke.systems import (
    BimodalJumps,
    BlackScholes,
    CoxIngersollRoss,
    DoubleWell,
    GeometricBrownianMotion,
    Lorenz,
    OrnsteinUhlenbeck,
)

RULES = SelectionRules()


def detected(data: Trajectories, rules: SelectionRules = RULES):
    return detect_jumps(data.transitions(), Coordinates.zscore(data), 0, rules)


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
        Lorenz(noise=3.0),
    ],
    ids=str,
)
def test_jumps_are_told_from_noise(system):
    """256 trajectories of 41 rows at the system's own step; heavy multiplicative noise is no jump."""
    found, decision = detected(system.simulate(256, 0, times=system.times[:41]))
    assert found == system.has_jumps
    assert decision.topic == "jumps"
    assert decision.answer.startswith("assumed" if found else "none")


def test_noise_that_changes_within_a_neighbourhood_is_no_jump():
    """dx = −x dt + (0.3 + 1.5 exp(−8x²)) dW, whose noise falls to a sixth over 0.6, within steps of up to 0.4."""
    rng, x = np.random.default_rng(5), []
    now, fine = rng.normal(size=128), 0.05 / 20
    for _ in range(200):
        for _ in range(20):
            noise = 0.3 + 1.5 * np.exp(-8 * now**2)
            now = now - now * fine + noise * rng.normal(size=128) * np.sqrt(fine)
        x.append(now)
    data = Trajectories(np.stack(x, axis=1)[..., None], 0.05)
    found, decision = detected(data)
    assert decision.evidence["local excess kurtosis"] > RULES.jump_kurtosis
    assert not found
    jumps = (rng.random((128, 200)) < 0.02) * rng.normal(size=(128, 200)) * 1.5
    # The same increments with jumps on top, from the same states: the law without jumps does not show these.
    transitions = data.transitions()
    jumped = replace(transitions, y=transitions.y + jumps[:, 1:].reshape(-1, 1))
    assert detect_jumps(jumped, Coordinates.zscore(data), 0, RULES)[0]


@pytest.fixture(scope="module")
def jumping() -> Trajectories:
    return DoubleWell(dimension=1).simulate(64, 0, times=0.05 * np.arange(41))


def test_units_do_not_decide(jumping):
    scaled = (Trajectories(jumping.states * scale, 0.05 * unit) for scale, unit in ((1.0, 1.0), (1e-12, 1e12)))
    first, second = map(detected, scaled)
    assert first[0] == second[0]
    assert first[1].evidence == pytest.approx(second[1].evidence, rel=1e-6)


def test_the_thresholds_are_those_of_the_rules(jumping):
    assert detected(jumping)[0]
    assert not detected(jumping, SelectionRules(jump_kurtosis=1e3, evidence_gain=1e6))[0]


def test_rare_jumps_are_found_by_evidence():
    """Jumps at a hundredth of the usual rate, fifty in a thousand paths: too few for the kurtosis."""
    data = DoubleWell(rate=0.01).simulate(1024, seed=4)
    found, decision = detected(data)
    assert found
    assert decision.evidence["local excess kurtosis"] < RULES.jump_kurtosis
    assert decision.evidence["nats gained by rare jumps"] > decision.evidence["nats gained by Student's t"] + 10
    _, decision = detected(data, SelectionRules(evidence_gain=1e6))  # the kurtosis alone
    assert "compare scores with jumps=True and jumps=False" in decision.answer


def test_heavy_tails_are_told_from_jumps():
    """Autoregressions with Student noise of four degrees of freedom, and with rare jumps of eight noise widths."""
    rng, n = np.random.default_rng(2), 10_000
    rare = (rng.random(n) < 0.02) * rng.normal(2.4, 0.3, n)
    for noise, words in ((rng.standard_t(4, n), True), (0.3 * rng.normal(size=n) + rare, False)):
        path = np.zeros(n)
        for k in range(1, n):
            path[k] = 0.92 * path[k - 1] + noise[k]
        found, decision = detected(Trajectories(path, 0.1))
        assert found
        assert ("standing for heavy tails" in decision.answer) == words


def test_a_rate_that_depends_on_the_state_is_no_heavy_tail():
    """A voltage that fires the more often the higher it is: noise of the state could stand for that, but does not."""
    rng, v, rows, step = np.random.default_rng(3), np.zeros(64), [], 0.05
    for _ in range(200):
        rows.append(v)
        fires = rng.random(64) < 4 * step / (1 + np.exp(-5 * (v - 1.2)))
        v = v + step * (2 - v) + 0.3 * np.sqrt(step) * rng.normal(size=64) - fires * rng.normal(1.5, 0.15, 64)
    found, decision = detected(Trajectories(np.stack(rows, axis=1)[..., None], step))
    assert found
    assert "heavy tails" not in decision.answer


class TestAsked:
    def test_for_jumps(self, jumping):
        found, decision = decide_jumps(True, jumping.transitions(), Coordinates.zscore(jumping), 0, RULES)
        assert (found, decision.answer) == (True, "yes, as asked")

    def test_for_none_where_there_are_some(self, jumping):
        with pytest.warns(UserWarning, match="there seem to be jumps"):
            found, decision = decide_jumps(False, jumping.transitions(), Coordinates.zscore(jumping), 0, RULES)
        assert (found, decision.answer) == (False, "none, as asked")

    def test_nothing(self, jumping):
        found, _ = decide_jumps(None, jumping.transitions(), Coordinates.zscore(jumping), 0, RULES)
        assert found


def test_the_largest_increments_are_found(jumping):
    """Jumps N(0, 1) over noise of sd 0.11: whatever moves by more than 0.6 is one, and its calm peers are not."""
    seen = jumping.transitions()
    flags, size = find_jumps(seen, 3.0, RULES), np.abs(seen.displacement[:, 0])
    assert flags[size > 0.6].all()
    assert flags[size < 0.15].mean() < 0.01
