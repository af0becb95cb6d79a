"""One path of ten million rows, beside jumpdiff on the same array where it is installed."""

import resource
import time
from importlib.util import find_spec

import numpy as np
from scipy.signal import lfilter

from benchmarks.validation.tables import console, print_rows
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
METHOD = Likelihood(networks=True, noise="plain", components=1, width=32)
SLOPE, NOISE, RATE, JUMP_VARIANCE = -0.5, 0.75, 1.75, 2.5


def simulate(rows: int, seed: int) -> np.ndarray:
    """Simulates dx = −0.5 x dt + 0.75 dW + jumps N(0, 2.5) at rate 1.75, by Euler–Maruyama."""
    rng = np.random.default_rng(seed)
    kicks = NOISE * np.sqrt(STEP) * rng.standard_normal(rows)
    kicks += np.sqrt(JUMP_VARIANCE * rng.poisson(RATE * STEP, rows)) * rng.standard_normal(rows)
    return np.asarray(lfilter([1.0], [1.0, -(1 + SLOPE * STEP)], kicks))


def main() -> None:
    """The fit on five paths, and jumpdiff on the same ones where it is installed."""
    print_rows("path of 1e7 rows, nke", [nke_figures(seed) for seed in SEEDS], TARGETS)
    if find_spec("jumpdiff") is None:
        console.print("jumpdiff is not installed: pip install jumpdiff==0.4.2 to see it on the same arrays")
        return
    print_rows("path of 1e7 rows, jumpdiff", [jumpdiff_figures(seed) for seed in SEEDS])


def nke_figures(seed: int) -> dict[str, float]:
    """Fits one path; rate, variance, noise, slope and what it took."""
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


def jumpdiff_figures(seed: int) -> dict[str, float]:
    """Rate and variance by its own functions; slope and b² from its moments, M₁ = a dt and M₂ = (b² + λξ) dt."""
    import jumpdiff  # pyright: ignore[reportMissingImports] - a peer, not a dependency

    path = simulate(ROWS, seed)
    clock = time.perf_counter()
    edges, moments = jumpdiff.moments(timeseries=path)
    size, rate = float(jumpdiff.jump_amplitude(moments)[0]), float(jumpdiff.jump_rate(moments)[0]) / STEP
    seconds = time.perf_counter() - clock
    density, first, second = moments[:3, :, 0]
    return {
        "jump rate": rate,
        "jump variance": size,
        "b²": float(np.average(second, weights=density)) / STEP - rate * size,
        "slope": float(np.polyfit(edges[:, 0], first / STEP, 1, w=np.sqrt(density.clip(0)))[0]),
        "seconds": seconds,
    }
