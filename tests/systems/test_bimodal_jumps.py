"""Jumps whose rate and law depend on the state."""

import numpy as np

from nke.systems import BimodalJumps


def test_rate_and_law_follow_the_state():
    """Jumps minus their compensators are martingales, whatever the weight by the state before."""
    system = BimodalJumps(dt=0.01)
    states = system.simulate_states(1000, 4, 0.01 * np.arange(301))
    before = states[:, :-1]
    along = (states[:, 1:] - before - 0.01 * system.drift(before))[..., 0]
    up, down = along > 0.6, along < -0.6  # ±1.5 with sd 0.2; the noise of a step has sd 0.05
    chance = 1 - np.exp(-0.01 * system.jump_rate(before))
    weight = system.jump_law(before).weights[..., 0]
    for test in (np.ones_like(chance), before[..., 0], before[..., 1]):
        for seen, expected in ((up, chance * weight), (down, chance * (1 - weight))):
            error = (test * (seen - expected)).sum()
            # Two opposite jumps within a step hide each other: fewer than (λh)²/2 of the steps.
            hidden = np.abs(test * chance**2 / 2).sum()
            assert abs(error) < 4 * np.sqrt((test**2 * expected).sum()) + hidden
