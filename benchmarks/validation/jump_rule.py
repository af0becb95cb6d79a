"""The figure by which jumps are decided, on systems with and without them."""

import numpy as np

from nke.data import Coordinates
from nke.fitting import SelectionRules
from nke.fitting.jump_detection import BEYOND, EXCESS, detect_jumps
from nke.systems import (
    BimodalJumps,
    BlackScholes,
    CoxIngersollRoss,
    DoubleWell,
    Lorenz,
    OrnsteinUhlenbeck,
    System,
)

SEEDS = range(21, 26)
CASES: list[tuple[str, System, int]] = [
    ("Ornstein–Uhlenbeck", OrnsteinUhlenbeck(), 256),
    ("Cox–Ingersoll–Ross", CoxIngersollRoss(), 1024),
    ("double well, no jumps", DoubleWell(rate=0), 1024),
    ("Black–Scholes", BlackScholes(), 1024),
    ("Black–Scholes", BlackScholes(), 64),
    ("Lorenz, noise 0.3", Lorenz(noise=0.3), 1024),
    ("Lorenz, noise 1", Lorenz(noise=1.0), 1024),
    ("Lorenz, noise 3", Lorenz(noise=3.0), 1024),
    ("double well, λ = 1", DoubleWell(), 1024),
    ("double well, λ = 1, jump sd 0.3", DoubleWell(jump_scale=0.3), 1024),
    ("double well, λ = 0.1", DoubleWell(rate=0.1), 1024),
    ("double well, λ = 0.1", DoubleWell(rate=0.1), 64),
    ("double well, λ = 0.01", DoubleWell(rate=0.01), 1024),
    ("state-dependent bimodal jumps", BimodalJumps(), 512),
]


def main() -> None:
    """Prints the figure, the right decisions and those said to be unsure, for each system."""
    rules = SelectionRules()
    threshold, (low, high) = rules.jump_kurtosis, rules.unsure_kurtosis
    print(
        f"{'system':<34}{'trajectories':>13}{'excess':>14}  right decisions (threshold {threshold})  said to be unsure"
    )
    for name, system, trajectories in CASES:
        decided = [_decided(system, trajectories, seed) for seed in SEEDS]
        found = np.array([excess for _, excess in decided])
        right = sum(jumps == system.has_jumps for jumps, _ in decided)
        unsure = np.sum((found > low) & (found < high))
        spread = f"{found.min():.2f} … {found.max():.2f}"
        print(f"{name:<34}{trajectories:>13}{spread:>14}  {right} of {len(found)}{'':<25}{unsure}", flush=True)


def _decided(system: System, trajectories: int, seed: int) -> tuple[bool, float]:
    """What is decided, and the excess kurtosis beyond that of a law without jumps, where one was simulated."""
    data = system.simulate(trajectories, seed)
    found, decision = detect_jumps(data.transitions(), Coordinates.zscore(data), 0, SelectionRules())
    return found, decision.evidence.get(BEYOND, decision.evidence[EXCESS])
