"""One path of ten million rows, beside jumpdiff on the same array where it is installed."""

import resource
import time

import numpy as np
from scipy.signal import lfilter

from nke.bench.tables import console, print_rows
from nke.data import Trajectories
from nke.fitting import Likelihood, fit

ROWS, STEP = 10_000_000, 1e-3
SEEDS = range(5)
TARGETS = {
    "jump rate": "1.75 ± 3 %",
    "jump variance": "2.5 ± 4 %",
    "b²": "0.5625 ± 3 %",
    "slope": "truth −0.5",
    "seconds": "≤ 30",
    "others": "≤ jumpdiff's seconds",
}
METHOD = Likelihood(noise="plain", components=1, width=32)
SLOPE, NOISE, RATE, JUMP_VARIANCE = -0.5, 0.75, 1.75, 2.5


def simulate(rows: int, seed: int) -> np.ndarray:
    """dx = −0.5 x dt + 0.75 dW + jumps N(0, 2.5) at rate 1.75, by Euler–Maruyama."""
    rng = np.random.default_rng(seed)
    kicks = NOISE * np.sqrt(STEP) * rng.standard_normal(rows)
    kicks += np.sqrt(JUMP_VARIANCE * rng.poisson(RATE * STEP, rows)) * rng.standard_normal(rows)
    return np.asarray(lfilter([1.0], [1.0, -(1 + SLOPE * STEP)], kicks))


def main() -> None:
    print_rows("path of 1e7 rows, nke", [_nke(seed) for seed in SEEDS], TARGETS)
    try:
        import jumpdiff  # pyright: ignore[reportMissingImports] - a peer, not a dependency
    except ImportError:
        console.print("jumpdiff is not installed: pip install jumpdiff==0.4.2 to see it on the same arrays")
        return

    def measure(seed: int) -> dict[str, float]:
        path = simulate(ROWS, seed)
        clock = time.perf_counter()
        _, moments = jumpdiff.moments(timeseries=path)
        size, rate = jumpdiff.jump_amplitude(moments), jumpdiff.jump_rate(moments)
        seconds = time.perf_counter() - clock
        return {"jump rate": float(rate[0]) / STEP, "jump variance": float(size[0]), "seconds": seconds}

    print_rows("path of 1e7 rows, jumpdiff", [measure(seed) for seed in SEEDS])


def _nke(seed: int) -> dict[str, float]:
    path = simulate(ROWS, seed)
    clock = time.perf_counter()
    result = fit(Trajectories(path, STEP), METHOD, jumps=True, seed=seed)
    total, compilation = time.perf_counter() - clock, result.timings["compilation"]
    model, x = result.model, np.random.default_rng(seed).choice(path, 2000)[:, None]
    return {
        "jump rate": float(model.jump_rate(x).mean()),
        "jump variance": float(model.jump_law(x).covariance.mean()),
        "b²": float(model.diffusion(x).mean()),
        "slope": float(np.polyfit(x[:, 0], model.drift(x)[:, 0], 1)[0]),
        "seconds": total,
        "of them compilation": compilation,
        "others": total - compilation,
        "largest memory so far, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }
