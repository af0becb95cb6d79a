"""Do simulated paths look like the recorded ones? As many data sets as needed are simulated from the recorded starts.

If the model is right the recorded data set is one more of them, whatever it is: one path or many, at rest or not. Its
mean, width, range and memory then lie among theirs, which tells the error without any theory of correlated data.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from nke.data import Trajectories
from nke.evaluation.finding import Finding
from nke.model import Model

REPLICATES = 40
MOST_STEPS = 100_000  # that are simulated: what the cost allows
MOST_PATHS, MOST_ROWS = 50, MOST_STEPS // REPLICATES
MEAN, WIDTH, RANGE, MEMORY = 0.25, 1.2, 1.5, 0.1  # deviations that matter
FAR = 100.0  # times the recorded range beyond which a simulated path is lost
NAME = "long run"
ADVICE = "One-step predictions may be right all the same; do not trust simulations and long forecasts."


@dataclass(frozen=True)
class Recording:
    """Some recorded paths on common times.

    Attributes:
        states: One row a path.
        times: Common to all.
    """

    states: Float[np.ndarray, "m t d"]
    times: Float[np.ndarray, " t"]


def check_long_run(model: Model, data: Trajectories, seed: int = 0) -> Iterator[Finding]:
    """Compares recorded paths with simulated data sets of the same starts, times and number.

    Args:
        model: The model.
        data: Recorded trajectories.
        seed: Of the simulation.

    Yields:
        Deviations of the mean, the width, the range and the memory of each coordinate; and lost paths.

    Example:
        >>> [finding.topic for finding in nke.evaluation.checks.check_long_run(model, data) if finding.matters]
        []
    """
    recorded = some_paths(data)
    if recorded is None:
        return
    count, length, dimension = recorded.states.shape
    paths, lost = _simulated(model, recorded, seed)
    if lost > 0:
        yield Finding(
            NAME,
            "paths diverge",
            lost,
            0.0,
            0.0,
            f"{lost:.1%} of the simulated paths become infinite or go {FAR:g} times as far as the recorded ones.",
            "The law cannot be right far from the data; " + ADVICE[:1].lower() + ADVICE[1:],
            severe=True,
        )
        return
    lags = [_lag(recorded.states[..., i]) for i in range(dimension)]
    simulated = paths.reshape(REPLICATES, count, length, dimension)
    for i, name in enumerate(model.names):
        if np.ptp(recorded.states[..., i]) == 0:
            continue
        true = _statistics(recorded.states[..., i], lags[i])
        drawn = np.array([_statistics(each[..., i], lags[i]) for each in simulated])
        width = float(np.exp(true[1]))
        yield from _compared(name, true, drawn, width, lags[i] * float(np.median(np.diff(recorded.times))), dimension)


def block(recorded: Recording | None) -> int:
    """Tells how many states are simulated together, a power of two.

    Args:
        recorded: Paths to be compared.

    Returns:
        Enough for all replicates of them; 64 where there are none.

    Example:
        >>> nke.evaluation.checks.block(None)
        64
    """
    return 64 if recorded is None else 1 << (REPLICATES * len(recorded.states) - 1).bit_length()


def _simulated(model: Model, recorded: Recording, seed: int) -> tuple[Float[np.ndarray, "n t d"], float]:
    """All replicates, path by path, and the share of those that were lost: infinite, or far beyond the recorded ones.

    They are moved step by step by the program that also draws single steps, so that only one is compiled.
    """
    every = recorded.states.reshape(-1, model.dimension)
    middle, reach = every.mean(axis=0), FAR * np.ptp(every, axis=0)
    reach = np.where(reach > 0, reach, np.inf)
    x = np.tile(recorded.states[:, 0], (REPLICATES, 1))
    states, lost = [x], np.zeros(len(x), bool)
    for i, step in enumerate(np.diff(recorded.times)):
        moved = model.sample_next(x, step, seed + i, block=block(recorded))
        with np.errstate(all="ignore"):
            lost |= ~np.isfinite(model.coordinates.to(moved)).all(axis=1)
            lost |= ~(np.abs(moved - middle) <= reach).all(axis=1)
        x = np.where(lost[:, None], states[0], moved)
        states.append(x)
    return np.stack(states, axis=1), float(lost.mean())


def some_paths(data: Trajectories) -> Recording | None:
    """Takes recorded paths that share their times, at most fifty, or else the observed rows of the longest one.

    Both are cut where simulating all replicates of them would cost too much.

    Args:
        data: Recorded trajectories.

    Returns:
        The paths; None where none has 20 observed rows.

    Example:
        >>> nke.evaluation.checks.some_paths(data).states.shape[0] <= 50
        True
    """
    if not data.is_ragged and len(data) > 1 and np.all(data.observed):
        times = np.asarray(data.times)
        most = min(len(data), MOST_PATHS, max(MOST_ROWS // times.shape[1], 4))
        chosen = np.unique(np.linspace(0, len(data) - 1, most).astype(int))
        if np.all(np.abs(times[chosen] - times[chosen[0]]) <= 1e-6 * np.diff(times[chosen[0]]).min()):
            rows = slice(0, max(MOST_ROWS // most, 20))
            return Recording(np.asarray(data.states)[chosen][:, rows], times[chosen[0]][rows])
    best: Recording | None = None
    for states, times, seen in zip(data.states, data.times, data.observed, strict=True):
        kept = np.flatnonzero(seen)
        if len(kept) >= 20 and (best is None or len(kept) > len(best.times)):
            best = Recording(np.asarray(states)[None, kept], np.asarray(times)[kept])
    if best is None:
        return None
    return Recording(best.states[:, :MOST_ROWS], best.times[:MOST_ROWS])


def _lag(x: Float[np.ndarray, "m t"]) -> int:
    """Rows after which about half of the correlation is left, a quarter of the length at most."""
    most = max(1, x.shape[1] // 4)
    for lag in range(1, most):
        if _correlation(x, lag) < 0.5:
            return lag
    return most


def _correlation(x: Float[np.ndarray, "m t"], lag: int) -> float:
    centred = x - x.mean()
    return float(np.mean(centred[:, lag:] * centred[:, :-lag]) / max(np.mean(centred**2), 1e-300))


def _statistics(x: Float[np.ndarray, "m t"], lag: int) -> Float[np.ndarray, " 4"]:
    """Mean, logarithms of standard deviation and range, correlation over a lag."""
    tiny = 1e-300
    return np.array([x.mean(), np.log(x.std() + tiny), np.log(np.ptp(x) + tiny), _correlation(x, lag)])


def _compared(
    name: str, true: np.ndarray, drawn: np.ndarray, width: float, lag: float, dimension: int
) -> Iterator[Finding]:
    middle, spread = drawn.mean(axis=0), drawn.std(axis=0, ddof=1) + 1e-12
    t = (true - middle) / spread / np.sqrt(1 + 1 / len(drawn))
    # Both by a t-test and by ranks: simulated data sets must all lie on one side of the recorded one.
    beyond = (drawn.min(axis=0) > true) | (drawn.max(axis=0) < true)
    p_values = np.where(beyond, np.minimum(1.0, 4 * dimension * 2 * stats.t.sf(np.abs(t), len(drawn) - 1)), 1.0)
    shift = float((middle[0] - true[0]) / width)
    yield Finding(
        NAME,
        "wrong mean",
        shift,
        MEAN,
        float(p_values[0]),
        f"Simulated paths of {name} have the mean {middle[0]:.3g}, recorded ones {true[0]:.3g}.",
        ADVICE,
        severe=abs(shift) > 1,
    )
    ratio, reach = (float(np.exp(middle[i] - true[i])) for i in (1, 2))
    yield Finding(
        NAME,
        "too wide" if ratio > 1 else "too narrow",
        max(ratio, 1 / ratio),
        WIDTH,
        float(p_values[1]),
        f"Simulated paths of {name} spread {ratio:.2g} times as far as recorded ones (standard deviation).",
        ADVICE,
        severe=max(ratio, 1 / ratio) > 3,
    )
    yield Finding(
        NAME,
        "leaves the range" if reach > 1 else "does not reach the range",
        max(reach, 1 / reach),
        RANGE,
        float(p_values[2]),
        f"Simulated paths of {name} range over {reach:.2g} times the range of the recorded ones.",
        ADVICE,
        severe=reach > 3,
    )
    change = float(middle[3] - true[3])
    yield Finding(
        NAME,
        "memory too long" if change > 0 else "memory too short",
        change,
        MEMORY,
        float(p_values[3]),
        f"The correlation of {name} over a time {lag:.3g} is {middle[3]:.2f} in simulated paths and {true[3]:.2f} in "
        "recorded ones.",
        ADVICE,
    )
