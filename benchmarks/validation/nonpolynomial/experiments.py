"""What is measured: the systems, their sizes, and what is known of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from benchmarks.validation.nonpolynomial import families
from benchmarks.validation.nonpolynomial.families import Family
from benchmarks.validation.nonpolynomial.regression import Inputs
from benchmarks.validation.nonpolynomial.truths import JumpingOscillator, ScaledLorenz, TankReactor
from nke.data import Trajectories
from nke.systems import (
    GeneNetwork,
    NonGradientWell,
    Pendulum,
    PeriodicPotential,
    PhaseOscillators,
    PredatorPrey,
    Repressilator,
    System,
)

Array = np.ndarray
PLAIN = Inputs()
LOGARITHMS = Inputs("logarithms", positive=True)
TEST, REPLICATE, DRAW = 100_000, 200_000, 300_000  # added to the seed, so that no two data sets share their noise
ROLLOUTS, REPLICATES, DRAWS = 2048, 5, 5
MOST_POINTS = 50_000  # states of the test set at which coefficients are compared


class Published(NamedTuple):
    """Errors that DynGMA prints; None where it prints none."""

    drift: float | None
    noise: float | None


@dataclass(frozen=True, eq=False)
class Experiment:
    """A system, how it is recorded, and the references of what its data allows."""

    name: str
    system: System
    family: Family
    inputs: tuple[Inputs, ...] = (PLAIN,)
    trajectories: int = 512
    times: tuple[float, ...] | None = None  # of the training set, where they are not the system's
    horizon: tuple[float, ...] | None = None  # times of the roll-outs, where they are not those of the training set
    positive: bool = False  # whether every state of the truth is
    uniform_points: Callable[[], Float[Array, "n d"]] | None = None  # instead of the states of the test set
    published: Published | None = None
    judged_by_references: bool = True  # those of DynGMA are judged by what it published
    note: str = ""

    def quick(self) -> "Experiment":
        """Makes a small version, which shows that everything runs."""
        return replace(self, trajectories=max(32, self.trajectories // 100))

    def training_set(self, seed: int) -> Trajectories:
        """Simulates the training set of a seed."""
        return self.system.simulate(self.trajectories, seed, times=self.times)

    def test_set(self, seed: int, rollouts: int = ROLLOUTS) -> Trajectories:
        """Simulates the unseen paths of a seed that roll-outs are compared with."""
        times = self.times if self.horizon is None else self.horizon
        return self.system.simulate(rollouts, seed + TEST, times=times)

    def points(self, test: Trajectories) -> Float[Array, "n d"]:
        """Gives the states at which coefficients are compared with the truth."""
        if self.uniform_points is not None:
            return self.uniform_points()
        states = np.asarray(test.states)
        if self.horizon is not None:  # single steps: where they start is where the law can be learned
            return states[:, 0]
        states = states.reshape(-1, self.system.dimension)
        return states[:: -(-len(states) // MOST_POINTS)]


def planar_grid(points: int = 201) -> Float[Array, "n 2"]:
    """Gives DynGMA's grid on [−2, 2] × [−3, 3]."""
    x, y = np.meshgrid(np.linspace(-2, 2, points), np.linspace(-3, 3, points))
    return np.stack([x.ravel(), y.ravel()], axis=1)


def lorenz_points(points: int = 100_000) -> Float[Array, "n 3"]:
    """Draws DynGMA's uniform points for Lorenz's equations."""
    return np.random.default_rng(0).uniform(*ScaledLorenz.box, (points, 3))


def _non_gradient(step: float, drift: float, noise: float) -> Experiment:
    """DynGMA's planar system: 40,000 transitions at every step, each of ten Euler–Maruyama steps."""
    return Experiment(
        f"non-gradient-{step:g}",
        NonGradientWell(dt=step / 10),
        families.non_gradient_well(),
        trajectories=round(2000 * step / 0.05),
        times=tuple(np.linspace(0, 1, round(1 / step) + 1)),
        uniform_points=planar_grid,
        published=Published(drift, noise),
        note="each step is ten Euler–Maruyama steps, as published; their bias is part of every drift error",
    )


def _experiments() -> list[Experiment]:
    phases = PhaseOscillators()
    angles = tuple(range(phases.dimension))
    return [
        Experiment(
            "repressilator",
            Repressilator(),
            families.fields(Repressilator(), "strength", "exponent", "leak"),
            (PLAIN, LOGARITHMS),
            positive=True,
        ),
        Experiment(
            "predator-prey",
            PredatorPrey(),
            families.fields(
                PredatorPrey(), "growth", "capacity", "predation", "half_saturation", "efficiency", "mortality"
            ),
            (PLAIN, LOGARITHMS),
            positive=True,
        ),
        Experiment("pendulum", Pendulum(), families.pendulum(), (PLAIN, Inputs("angles", angles=(0,)))),
        Experiment(
            "periodic-potential",
            PeriodicPotential(),
            families.linear([[(0.3, lambda x: np.ones_like(x)), (-1.0, lambda x: np.sin(x))]]),
            (PLAIN, Inputs("angles", angles=(0,))),
        ),
        Experiment(
            "phase-oscillators",
            phases,
            families.phase_oscillators(phases),
            (PLAIN, Inputs("angles", angles=angles)),
        ),
        _non_gradient(0.05, 0.046, 0.0099),
        _non_gradient(0.1, 0.044, 0.0052),
        _non_gradient(0.2, 0.075, 0.038),
        Experiment(
            "lorenz-tenth",
            ScaledLorenz(),
            families.scaled_lorenz(),
            trajectories=10_000,
            uniform_points=lorenz_points,
            published=Published(0.078, 0.155),
            judged_by_references=False,
        ),
        Experiment(
            "gene-network",
            GeneNetwork(),
            families.gene_network(),
            trajectories=50_000,
            times=(0.0, 0.08),
            horizon=tuple(np.linspace(0, 2.0, 26)),
            published=Published(None, 0.0998),
            judged_by_references=False,
            note="single steps of 0.08 from fresh uniform starts",
        ),
        Experiment("jumping-oscillator", JumpingOscillator(), families.jumping_oscillator()),
        Experiment("tank-reactor", TankReactor(), families.tank_reactor()),
    ]


EXPERIMENTS: Mapping[str, Experiment] = {experiment.name: experiment for experiment in _experiments()}
