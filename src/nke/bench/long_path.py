"""One path of ten million rows, beside jumpdiff on the same array where it is installed."""

import resource
import time

import numpy as np
from scipy.signal import lfilter

from nke.bench.tables import console
from nke.data import Trajectories
from nke.fitting import fit

ROWS, STEP = 10_000_000, 1e-3
SLOPE, NOISE, RATE, JUMP_VARIANCE = -0.5, 0.75, 1.75, 2.5


def simulate(rows: int, seed: int) -> np.ndarray:
    """dx = −0.5 x dt + 0.75 dW + jumps N(0, 2.5) at rate 1.75, by Euler–Maruyama."""
    rng = np.random.default_rng(seed)
    kicks = NOISE * np.sqrt(STEP) * rng.standard_normal(rows)
    kicks += np.sqrt(JUMP_VARIANCE * rng.poisson(RATE * STEP, rows)) * rng.standard_normal(rows)
    return np.asarray(lfilter([1.0], [1.0, -(1 + SLOPE * STEP)], kicks))


def main(seed: int = 0) -> None:
    path = simulate(ROWS, seed)
    clock = time.perf_counter()
    result = fit(Trajectories(path, STEP), jumps=True, seed=seed)
    total = time.perf_counter() - clock
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    model = result.model
    x = np.random.default_rng(seed).choice(path, 2000)[:, None]
    found = {
        "jump rate": (model.jump_rate(x).mean(), RATE, "3 %"),
        "jump variance": (model.jump_law(x).covariance.mean(), JUMP_VARIANCE, "4 %"),
        "b²": (model.diffusion(x).mean(), NOISE**2, "3 %"),
        "slope": (np.polyfit(x[:, 0], model.drift(x)[:, 0], 1)[0], SLOPE, "none set"),
    }
    for name, (value, truth, target) in found.items():
        console.print(f"{name}: {value:.4f}, truth {truth:g}: {value / truth - 1:+.2%} (target {target})")
    compilation = result.timings["compilation"]
    console.print(
        f"nke: {total - compilation:.1f} s and {compilation:.1f} s of compilation (target ≤ 30 s in all); "
        f"{memory:.2f} GB at most, the path itself {path.nbytes / 1e9:.2f} GB"
    )
    try:
        import jumpdiff  # pyright: ignore[reportMissingImports] - a peer, not a dependency
    except ImportError:
        console.print("jumpdiff is not installed: pip install jumpdiff==0.4.2 to see it on the same array")
        return
    clock = time.perf_counter()
    _, moments = jumpdiff.moments(timeseries=path)
    size, rate = jumpdiff.jump_amplitude(moments), jumpdiff.jump_rate(moments) / STEP
    console.print(
        f"jumpdiff: {time.perf_counter() - clock:.1f} s; jump rate {float(rate[0]):.4f} "
        f"({float(rate[0]) / RATE - 1:+.2%}), jump variance {float(size[0]):.4f} "
        f"({float(size[0]) / JUMP_VARIANCE - 1:+.2%})"
    )
