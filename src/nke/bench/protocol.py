"""What is run: the systems, the sizes, and the data of one seed."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nke.data import Coordinates, Trajectories, Transitions
from nke.systems import System

# Added to the seed, so that no two data sets share their noise.
TEST, LARGE, REPLICATE, LARGE_REPLICATE, SCORED, EACH = 1000, 2000, 3000, 4000, 5000, 10_000


class Printed(NamedTuple):
    """A row of the paper's table, as printed: mean ± standard deviation; "--" where it gives none."""

    mean_mse: str
    covariance_mse: str
    wasserstein: str
    seconds: str


@dataclass(frozen=True)
class Case:
    """A system of the benchmark. One file in ``nke/bench/cases`` that defines ``CASES`` adds one."""

    name: str  # on the command line
    label: str
    table: int  # of the paper
    system: System
    parametric: Callable[[Trajectories], System] | None = None  # maximum likelihood of the true family
    raw: bool = False  # learn and compare in raw coordinates instead of z-scored ones
    most_train: int | None = None
    plane: tuple[int, int] = (0, 1)  # the coordinates whose joint density is drawn
    paper: Mapping[str, Printed] = field(default_factory=dict)  # by method


@dataclass(frozen=True)
class Protocol:
    """Sizes and budgets. The default is the paper's protocol with the larger one beside it."""

    train: int = 1024
    test: int = 256  # test and generated trajectories
    large: int = 4096  # the same, in the larger protocol
    replicates: int = 50  # of the true system, for the floor
    scored: int = 4000  # unseen transitions that are scored
    cap: float = 1800.0  # seconds after which a fit is given up
    adversarial: float = 480.0  # seconds that the SDE-GAN trains
    steps: int | None = None  # optimisation steps instead of each method's own number


QUICK = Protocol(train=128, test=64, large=256, replicates=10, scored=500, cap=300.0, adversarial=15.0, steps=100)


def cases() -> dict[str, Case]:
    """All systems, in the order of the paper."""
    from nke.bench import cases as folder

    modules = [importlib.import_module(f"{folder.__name__}.{m.name}") for m in pkgutil.iter_modules(folder.__path__)]
    found = [case for module in modules for case in module.CASES]
    return {case.name: case for case in sorted(found, key=lambda case: case.table)}


class Data(NamedTuple):
    train: Trajectories
    test: Trajectories
    large: Trajectories
    scored: Transitions  # a random part of the test set's
    coordinates: Coordinates  # of the training set: learning and metrics use them


def simulate(case: Case, protocol: Protocol, seed: int) -> Data:
    train = case.system.simulate(min(protocol.train, case.most_train or protocol.train), seed)
    test, large = (case.system.simulate(n, seed + s) for n, s in ((protocol.test, TEST), (protocol.large, LARGE)))
    seen = test.transitions()
    rng = np.random.default_rng(seed + SCORED)
    part = np.sort(rng.choice(len(seen), min(protocol.scored, len(seen)), replace=False))
    coordinates = Coordinates.raw(train) if case.raw else Coordinates.zscore(train)
    return Data(train, test, large, seen.take(part), coordinates)


def common_times(data: Trajectories) -> Float[np.ndarray, " t"]:
    return np.asarray(data.times)[0]
