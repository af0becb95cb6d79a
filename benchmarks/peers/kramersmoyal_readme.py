"""kramersmoyal's README: an Ornstein–Uhlenbeck path, and a diffusion in the plane whose noise depends on the state."""

import math
import time

import numpy as np
from jaxtyping import Float
from kramersmoyal import km  # pyright: ignore[reportMissingImports] - a peer, not a dependency
from scipy.interpolate import RegularGridInterpolator
from scipy.signal import lfilter

from benchmarks.peers.example import SECONDS, Example, Figures, Measured, Run, fit_default
from nke.bench.methods import recorded_decisions
from nke.evaluation import relative_error

STEP = 1e-3
COMPARED = 2000  # states of the path
THETA, SIGMA, LINE_ROWS = 0.3, 0.1, 500_000
RATES, AMPLITUDE, PLANE_ROWS = (2.0, 1.0), 0.5, 2_000_000
POWERS = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 2]])


def measure_line(run: Run) -> Measured:
    """Ornstein–Uhlenbeck, dy = −0.3 y dt + 0.1 dW by Euler–Maruyama, T = 500."""
    rng = np.random.default_rng(run.seed)
    kicks = SIGMA * np.sqrt(STEP) * rng.standard_normal(LINE_ROWS)
    kicks[0] = 0
    path = np.asarray(lfilter([1.0], [1.0, -(1 - THETA * STEP)], kicks))
    x = rng.choice(path, COMPARED)[:, None]
    drift, diffusion = -THETA * x, np.full((COMPARED, 1, 1), SIGMA**2)

    result, times = fit_default(path, STEP, run.seed)
    ours = _errors(result.model.drift(x), result.model.diffusion(x), drift, diffusion)
    ours |= _parameters(x, result.model.drift(x), result.model.diffusion(x))

    clock = time.perf_counter()
    coefficients, edges = km(path, powers=2)
    seconds = time.perf_counter() - clock
    first, second = (np.interp(x, edges[0], curve / STEP) for curve in coefficients[1:])
    peer = _errors(first, 2 * second[..., None], drift, diffusion) | _parameters(x, first, 2 * second)
    truth = {"slope": -THETA, "σ²": SIGMA**2, "drift error": _floor(path[:, None], x, drift)}
    return Measured(truth, ours | times, peer | {SECONDS: seconds}, recorded_decisions(result))


def measure_plane(run: Run) -> Measured:
    """dy_i = −N_i y_i dt + 0.5/(1 + exp y_i²) dW_i by Euler–Maruyama, T = 2000."""
    rng = np.random.default_rng(run.seed)
    path = np.stack([_coordinate(rate, rng.standard_normal(PLANE_ROWS)) for rate in RATES], axis=1)
    x = rng.choice(path, COMPARED)
    drift = -np.array(RATES) * x
    diffusion = np.einsum("ni,ij->nij", (AMPLITUDE / (1 + np.exp(x**2))) ** 2, np.eye(2))

    result, times = fit_default(path, STEP, run.seed)
    ours = _errors(result.model.drift(x), result.model.diffusion(x), drift, diffusion)

    clock = time.perf_counter()
    coefficients, edges = km(path, bw=0.1, bins=[100, 100], powers=POWERS)
    seconds = time.perf_counter() - clock
    f1, f2, a12, a11, a22 = (RegularGridInterpolator(edges, surface / STEP)(x) for surface in coefficients[1:6])
    found = np.stack([2 * a11, a12, a12, 2 * a22], axis=1).reshape(-1, 2, 2)
    peer = _errors(np.stack([f1, f2], axis=1), found, drift, diffusion)
    return Measured(
        {"drift error": _floor(path, x, drift)}, ours | times, peer | {SECONDS: seconds}, recorded_decisions(result)
    )


def _coordinate(rate: float, noise: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    path, y, kicks = np.zeros(len(noise)), 0.0, AMPLITUDE * math.sqrt(STEP) * noise
    for i, kick in enumerate(kicks[1:].tolist(), start=1):
        y += -rate * y * STEP + kick / (1 + math.exp(y * y))
        path[i] = y
    return path


def _errors(drift: np.ndarray, diffusion: np.ndarray, true_drift: np.ndarray, true_diffusion: np.ndarray) -> Figures:
    return {
        "drift error": relative_error(drift, true=true_drift).relative,
        "diffusion error": relative_error(diffusion, true=true_diffusion).relative,
    }


def _floor(path: Float[np.ndarray, "n d"], x: Float[np.ndarray, "m d"], drift: Float[np.ndarray, "m d"]) -> float:
    """The drift error of straight lines f_i(y_i), the true family, fitted to the path by least squares."""
    lines = [np.polyfit(column[:-1], np.diff(column) / STEP, 1) for column in path.T]
    return relative_error(
        np.stack([np.polyval(line, y) for line, y in zip(lines, x.T, strict=True)], axis=1), true=drift
    )[0]


def _parameters(x: np.ndarray, drift: np.ndarray, diffusion: np.ndarray) -> Figures:
    return {"slope": float(np.polyfit(x[:, 0], drift[:, 0], 1)[0]), "σ²": float(diffusion.mean())}


EXAMPLES = [
    Example(
        "kramersmoyal",
        "Ornstein–Uhlenbeck path of its README, 5·10⁵ rows",
        measure_line,
        notes=(
            f"The best slope itself has a standard error of {math.sqrt(2 * THETA / (LINE_ROWS * STEP)):.3f}.",
            "Errors are relative, in L2, over states of the path; floor: least squares on the true, linear family.",
        ),
    ),
    Example(
        "kramersmoyal",
        "plane with state-dependent noise of its README, 2·10⁶ rows",
        measure_plane,
        notes=("Bins 100 × 100, bandwidth 0.1 as printed; read bilinearly at states of the path.",),
    ),
]
