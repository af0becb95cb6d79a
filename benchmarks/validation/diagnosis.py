"""Is the diagnosis right? Right models are not accused, and made-up failures are caught and named.

``python -m benchmarks.validation diagnosis [--sets 10] [--systems double-well,...] [--first-seed 700]``
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import nke
from nke.data import Coordinates, Trajectories
from nke.evaluation import Diagnosis
from nke.model import Model
from nke.operators import Advection, Diffusion, ForwardPacket, Generator, PoissonJump
from nke.systems import System

PATHS = 40  # trajectories of a data set, 100 transitions each
SYSTEMS: dict[str, Callable[[], System]] = {
    "double-well": nke.systems.DoubleWell,
    "lorenz": lambda: nke.systems.Lorenz(noise=0.3),
    "black-scholes": nke.systems.BlackScholes,
    "ornstein-uhlenbeck": nke.systems.OrnsteinUhlenbeck,
}
NAMES = {
    "right": set(),
    "noise doubled": {"noise too large"},
    "noise halved": {"noise too small"},
    "jumps removed": {"tails", "skew"},
    "step wrong": {"step wrong"},
    "drift × 0.7": {"drift too weak", "drift biased"},
    "measurement noise": {"measurement noise"},
    "positions alone": {"hidden velocity"},
    "increments as states": {"no memory of the state"},
    "change of regime": {"noise changes", "mean motion changes", "drift changes"},
    "leaves the range": {"leaves the range", "too wide", "wrong mean", "paths diverge"},
}


@cache
def known(title: str) -> System:
    """A system by its title."""
    return SYSTEMS[title]()


@cache
def law(title: str, step: float, drift: float = 1.0, noise: float = 1.0, jumps: bool = True) -> Model:
    """A model with the coefficients of a system, or with multiples of them; made once, so that it compiles once."""
    system = known(title)
    jump = None
    if jumps and system.has_jumps:
        jump = PoissonJump.from_functions(system.jump_rate, system.jump_law)
    generator = Generator(
        Advection(lambda x: drift * system.drift(x)), Diffusion(lambda x: noise * system.noise_matrix(x)), jump
    )
    one = np.ones(system.dimension)
    units = ("",) * system.dimension
    return Model(generator, Coordinates(0 * one, one, 1.0), step, system.names, units, ForwardPacket(substeps=2))


def _with(data: Trajectories, states: np.ndarray, times: np.ndarray | None = None) -> Trajectories:
    return Trajectories(states, np.asarray(data.times) if times is None else times, data.names)


def cases(title: str, seed: int) -> Iterator[tuple[str, Callable[[], tuple[Model, Trajectories]]]]:
    """Failures, each with the model and the data that show it."""
    system = known(title)
    data = system.simulate(PATHS, seed=seed)
    states, times = np.asarray(data.states), np.asarray(data.times)
    step = round(float(np.median(np.diff(times[0]))), 12)
    true = law(title, step)
    yield "right", lambda: (true, data)
    yield "noise doubled", lambda: (law(title, step, noise=2.0), data)
    yield "noise halved", lambda: (law(title, step, noise=0.5), data)
    if system.has_jumps:
        yield "jumps removed", lambda: (law(title, step, jumps=False), data)
    yield "step wrong", lambda: (true, _with(data, states, 2 * times))
    yield "drift × 0.7", lambda: (law(title, step, drift=0.7), data)
    rng = np.random.default_rng(seed)
    moved = np.diff(states, axis=1)
    noise = np.median(np.abs(moved), axis=(0, 1)) / 0.6745
    yield "measurement noise", lambda: _refitted(data, states + noise / 2 * rng.standard_normal(states.shape))
    yield "increments as states", lambda: _refitted(data, moved, times[:, 1:])
    changed = states.copy()
    half = states.shape[1] // 2
    changed[:, half:] = changed[:, half - 1 : half] + np.cumsum(2 * moved[:, half - 1 :], axis=1)
    yield "change of regime", lambda: _refitted(data, changed)


def _refitted(data: Trajectories, states: np.ndarray, times: np.ndarray | None = None) -> tuple[Model, Trajectories]:
    changed = _with(data, states, times)
    return nke.fit(changed, nke.Likelihood(networks=False), positive=[], progress=False).model, changed


def positions_alone(seed: int) -> tuple[Model, Trajectories]:
    """The positions of an oscillator with noise, without its velocities."""
    data = nke.systems.HarmonicOscillator().simulate(PATHS, seed=seed)
    positions = Trajectories(np.asarray(data.states)[..., :1], np.asarray(data.times))
    return nke.fit(positions, nke.Likelihood(networks=False), positive=[], progress=False).model, positions


def escaping(seed: int) -> tuple[Model, Trajectories]:
    """A double well whose model lets go: the true drift within the data's typical states, none to hold it beyond."""
    data = known("double-well").simulate(PATHS, seed=seed)
    return _free(round(float(np.median(np.diff(np.asarray(data.times)[0]))), 12)), data


@cache
def _free(step: float) -> Model:
    true = law("double-well", step)
    return replace(true, generator=Generator(Advection(lambda x: 0.5 * x), true.generator.diffusion, None))


def main(arguments: Sequence[str] = ()) -> None:
    """Prints how often each failure was caught, and how often its cause was among those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=700)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--cases", default=",".join(NAMES))
    asked = parser.parse_args(arguments)
    tried, caught, named = Counter(), Counter(), Counter()
    wanted = asked.cases.split(",")
    for seed in range(asked.first_seed, asked.first_seed + asked.sets):
        for title, case, make in _all(asked.systems.split(","), seed):
            if case not in wanted:
                continue
            model, data = make()
            found = nke.diagnose(model, data, seed=seed)
            key = f"{title}, {case}"
            tried[key] += 1
            caught[key] += not found.passed
            named[key] += _named(found, case)
            print(f"{key}, seed {seed}: {found.verdict}", flush=True)
    print("\n| case | sets | caught | named right |\n| --- | --- | --- | --- |")
    for key, count in tried.items():
        print(f"| {key} | {count} | {caught[key]} | {named[key]} |")


def _all(systems: list[str], seed: int) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    for title in systems:
        for case, make in cases(title, seed):
            yield title, case, make
    yield "harmonic oscillator", "positions alone", lambda: positions_alone(seed)
    yield "double-well", "leaves the range", lambda: escaping(seed)


def _named(found: Diagnosis, case: str) -> bool:
    topics = {finding.topic for finding in found.problems}
    return not topics if case == "right" else bool(topics & NAMES[case])
