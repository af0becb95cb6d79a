"""What is wrong with the paper's losses, and that the likelihood does not have it (docs/design.md)."""

import numpy as np

from benchmarks.validation.recovery import SEEDS
from benchmarks.validation.tables import console, mean_and_error, print_rows
from nke.fitting import Likelihood, SelectionRules, fit
from nke.fitting.jump_detection import find_jumps
from nke.packets import build_packets
from nke.systems import DoubleWell, OrnsteinUhlenbeck

TRAJECTORIES, ROWS = 1024, 101


def slopes() -> None:
    """Stationary Ornstein–Uhlenbeck, θ = 1: the slope that each estimate gives to the drift −x."""
    for step in (0.02, 0.2):
        rows = [_slopes(step, seed) for seed in SEEDS]
        error = np.sqrt(np.expm1(2 * step) / (TRAJECTORIES * (ROWS - 1))) / step
        targets = {"likelihood": f"−1 ± {2 * error / np.sqrt(len(rows)):.3f} (2 s.e. of the mean)"}
        print_rows(f"slope of Ornstein–Uhlenbeck (truth −1), s = {step}", rows, targets)


def _slopes(step: float, seed: int) -> dict[str, float]:
    data = OrnsteinUhlenbeck(rate=1.0).simulate(TRAJECTORIES, seed, times=step * np.arange(ROWS))
    seen = data.transitions()
    x, y = seen.x[:, 0], seen.y[:, 0]
    learned = fit(data, Likelihood(networks=True), jumps=False, seed=seed).model.drift(seen.x)[:, 0]
    row = {
        "likelihood": float(x @ learned / (x @ x)),
        "exact maximum likelihood": float(np.log(x @ y / (x @ x)) / step),
    }
    for neighbours in (1, 8, 32):
        row[f"trapezoidal least squares, κ_nn = {neighbours}"] = _trapezoid_slope(seen, neighbours, step, seed)
    return row


def _trapezoid_slope(seen, neighbours: int, step: float, seed: int) -> float:
    """The minimiser of the paper's L_adv over f(x) = b x, packets at each time step."""
    now, then = seen.x[:, 0], seen.y[:, 0]
    if neighbours > 1:
        group = np.rint(seen.time / step).astype(int)
        particles, members = build_packets(seen.x, group, neighbours, np.random.default_rng(seed))
        inside = np.concatenate([p[m] for p, m in zip(particles, members, strict=True)])
        now, then = now[inside].mean(axis=-1), then[inside].mean(axis=-1)
    total, gain = then + now, then - now
    return float(2 / step * (total @ gain) / (total @ total))


def thresholds() -> None:
    """The MAD split on the double well: the share of the jumps that it finds, false flags taken off."""
    system, calm = DoubleWell(), DoubleWell(rate=0)
    happened = -np.expm1(-system.rate * system.interval)
    for sensitivity in (2.0, 3.0, 5.0):
        found = []
        for seed in SEEDS:
            flagged, false = (
                find_jumps(s.simulate(TRAJECTORIES, seed).transitions(), sensitivity, SelectionRules()).mean()
                for s in (system, calm)
            )
            found.append((flagged - false * (1 - happened)) / happened)
        console.print(f"double well, MAD split at κ_sens = {sensitivity:g}: finds {mean_and_error(found)} of the jumps")
