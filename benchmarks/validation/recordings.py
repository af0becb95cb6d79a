"""Made-up recordings that are no clean data of a law of the state: is that said, and what comes out?"""

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from benchmarks.validation.tables import console
from nke.data import Trajectories
from nke.evaluation import simulate_like
from nke.fitting import fit

Array = np.ndarray
Field = Callable[[Array], Array]


class Recording(NamedTuple):
    """A recording and what is wrong with it.

    Attributes:
        data: It.
        expected: Topic of the finding that names it; nothing where nothing should be found.
    """

    data: Trajectories
    expected: str = ""


def _simulated(
    drift: Field, noise: Field, start: Float[Array, "m d"], step: float, rows: int, rng: np.random.Generator
) -> Float[Array, "m n d"]:
    """Paths by Euler's method, ten parts a step."""
    x, found = np.array(start, float), [np.array(start, float)]
    for _ in range(rows - 1):
        for _ in range(10):
            x = x + step / 10 * drift(x) + np.sqrt(step / 10) * noise(x) * rng.normal(size=x.shape)
        found.append(x)
    return np.stack(found, axis=1)


def _ruler(rng: np.random.Generator) -> Recording:
    """A double well, measured with noise of half that of a step."""
    x = _simulated(lambda x: x - x**3, lambda x: 0.5 + 0 * x, rng.normal(size=(20, 1)), 0.05, 501, rng)
    return Recording(Trajectories(x + 0.25 * np.sqrt(0.05) * rng.normal(size=x.shape), 0.05), "measurement noise")


def _hidden_velocity(rng: np.random.Generator) -> Recording:
    """Positions of an oscillator without its velocities."""
    drift: Field = lambda z: np.stack([z[:, 1], -z[:, 0] - 0.7 * z[:, 1]], axis=1)  # noqa: E731
    z = _simulated(drift, lambda z: np.array([0, 0.8]), rng.normal(size=(20, 2)), 0.1, 501, rng)
    return Recording(Trajectories(z[..., :1], 0.1), "hidden velocity")


def _student_noise(rng: np.random.Generator) -> Recording:
    """An autoregression with Student noise of four degrees of freedom."""
    noise, path = 0.3 * np.sqrt(0.05) * rng.standard_t(4, 20_000), np.zeros(20_000)
    for k in range(1, len(path)):
        path[k] = np.exp(-0.08) * path[k - 1] + noise[k]
    return Recording(Trajectories(path, 0.1), "a simpler law predicts better")


def _price(rng: np.random.Generator) -> Recording:
    """A price whose variance returns to a mean and is not recorded (Heston)."""
    log_price, variance, path = 4.6, 0.04, []
    for _ in range(5000):
        path.append(np.exp(log_price))
        first, second = rng.normal(size=2)
        root = np.sqrt(variance / 252)
        log_price += (0.05 - variance / 2) / 252 + root * first
        variance = abs(variance + 3 * (0.04 - variance) / 252 + 0.4 * root * (0.8 * second - 0.6 * first))
    return Recording(Trajectories(path, 1 / 252, names=["price"]), "volatility that changes")


def _index(rng: np.random.Generator) -> Recording:
    """An index of volatility: its logarithm returns to a mean and jumps upwards five times a year."""
    level, path = np.log(18.0), []
    for _ in range(8000):
        path.append(np.exp(level))
        jump = (rng.random() < 5 / 252) * rng.normal(0.18, 0.08)
        level += 4 * (np.log(18) - level) / 252 + 0.9 * np.sqrt(1 / 252) * rng.normal() + jump
    return Recording(Trajectories(path, 1 / 252, names=["index"]))


def _regimes(rng: np.random.Generator) -> Recording:
    """A law that is another one after half of the time."""
    first = _simulated(lambda x: -x, lambda x: 0.3 + 0 * x, np.zeros((1, 1)), 0.1, 4001, rng)
    second = _simulated(lambda x: -3 * (x - 0.5), lambda x: 0.6 + 0 * x, first[:, -1], 0.1, 4001, rng)
    return Recording(Trajectories(np.concatenate([first[0], second[0, 1:]]), 0.1), "noise changes")


def _season(rng: np.random.Generator) -> Recording:
    """A state that is driven up and down with a period of 80 steps."""
    path = [0.0]
    for k in range(7999):
        force = 2 * np.sin(2 * np.pi * k / 80) - path[-1]
        path.append(path[-1] + 0.1 * force + 0.3 * np.sqrt(0.1) * rng.normal())
    return Recording(Trajectories(path, 0.1), "hidden velocity")


def _individuals(rng: np.random.Generator) -> Recording:
    """A hundred animals, each with a mean and a strength of return of its own."""
    strength = rng.gamma(4, 0.25, (100, 1))
    home = (strength > 1).astype(float)
    x = _simulated(lambda x: -strength * (x - home), lambda x: 0.4 + 0 * x, rng.normal(size=(100, 1)), 0.1, 201, rng)
    return Recording(Trajectories(x, 0.1), "trajectories differ")


def _headings(rng: np.random.Generator) -> Recording:
    """A direction in degrees, wrapped, and a speed that depends on it."""
    drift: Field = lambda z: np.stack(  # noqa: E731
        [1.2 * np.sin(z[:, 0]) + 0.3 * z[:, 1], 1 + 0.5 * np.cos(z[:, 0]) - z[:, 1]], axis=1
    )
    z = _simulated(drift, lambda z: np.array([0.4, 0.3]), rng.normal(size=(30, 2)), 0.1, 301, rng)
    z[..., 0] = np.degrees(z[..., 0]) % 360
    return Recording(Trajectories(z, 0.1, names=["direction", "speed"]))


def _counts(rng: np.random.Generator) -> Recording:
    """Arrivals at a rate of 20 that each leave at a rate of 1, in whole numbers."""
    count, path = 20, []
    for _ in range(5000):
        path.append(count)
        time = rng.exponential(1 / (20 + count))
        while time < 0.1:
            count += 1 if rng.random() < 20 / (20 + count) else -1
            time += rng.exponential(1 / (20 + count))
    return Recording(Trajectories(np.array(path, float), 0.1))


RECORDINGS: Mapping[str, Callable[[np.random.Generator], Recording]] = {
    "ruler": _ruler,
    "hidden-velocity": _hidden_velocity,
    "student-noise": _student_noise,
    "price": _price,
    "index": _index,
    "regimes": _regimes,
    "season": _season,
    "individuals": _individuals,
    "headings": _headings,
    "counts": _counts,
}


def main(arguments: Sequence[str] = ()) -> None:
    """Fits the recordings with nothing said; prints verdicts, and means and ranges of recorded and simulated states."""
    parser = argparse.ArgumentParser("python -m benchmarks.validation recordings", description=__doc__)
    parser.add_argument("--recordings", default=",".join(RECORDINGS))
    parser.add_argument("--first-seed", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args(arguments)
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for name in options.recordings.split(","):
            data, expected = RECORDINGS[name](np.random.default_rng(seed))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the verdict says it too
                result = fit(data, seed=seed, progress=False)
            assert result.diagnosis is not None
            found = [finding.topic for finding in result.diagnosis.problems]
            right = "as it should be" if (expected in found if expected else not found) else f"expected: {expected}"
            console.print(f"{name}, seed {seed}: {result.diagnosis.verdict} ({right}); {result.form}", markup=False)
            paths = np.asarray(simulate_like(result.model, data, seed=seed).states).reshape(-1, data.dimension)
            for words, states in (("recorded", data.observed_states), ("simulated", paths)):
                middle, ends = states.mean(axis=0), np.quantile(states, [0.01, 0.99], axis=0)
                console.print(f"    {words}: mean {middle.round(3)}, 1 % {ends[0].round(3)}, 99 % {ends[1].round(3)}")
