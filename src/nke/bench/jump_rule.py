"""``python -m nke.bench.jump_rule``: the figure by which jumps are decided, on systems with and without them."""

import numpy as np

from nke.data import Coordinates
from nke.fitting.jump_detection import JUMPY, local_excess_kurtosis
from nke.systems import (
    BimodalJumps,
    BlackScholes,
    CoxIngersollRoss,
    DoubleWell,
    Lorenz,
    OrnsteinUhlenbeck,
    System,
)

SEED = 3
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
    print(f"{'system':<34}{'trajectories':>13}{'excess':>8}  decision (threshold {JUMPY})  truth")
    for name, system, trajectories in CASES:
        data = system.simulate(trajectories, SEED)
        excess = local_excess_kurtosis(data.transitions(), Coordinates.zscore(data), np.random.default_rng(0))
        decision, truth = ("jumps" if jumps else "none" for jumps in (excess > JUMPY, system.has_jumps))
        print(f"{name:<34}{trajectories:>13}{excess:>8.2f}  {decision:<27}  {truth}")


if __name__ == "__main__":
    main()
