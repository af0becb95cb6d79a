"""Systems whose laws are no polynomials; run by name, since the paper does not have them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nke.bench.flow_fit import fit_parameters
from nke.bench.protocol import Case
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


def fit_periodic_potential(data: Trajectories) -> PeriodicPotential:
    """Fits drift and noise to the steps without a jump, and rate and law of the jumps to the others."""
    truth = PeriodicPotential()
    found, fitted = fit_parameters(data, truth, ("tilt", "strength"), "noise")
    seen, jumped = data.transitions(), ~fitted.smooth
    noise = np.sqrt(np.asarray(truth.diffusion(seen.x))[:, 0, 0] * seen.step)
    sizes = (fitted.residuals[:, 0] * noise)[jumped]
    exposure = float(np.sum(np.asarray(truth.jump_rate(seen.x)) / truth.rate * seen.step))
    if len(sizes) < 2:
        return replace(found, rate=len(sizes) / exposure)
    spread = max(float(sizes.var() - np.mean(noise[jumped] ** 2)), 1e-6)  # less the noise of the same steps
    return replace(found, rate=len(sizes) / exposure, jump_mean=float(sizes.mean()), jump_scale=spread**0.5)


def _case(name: str, label: str, table: float, system: System, **further: Any) -> Case:
    return Case(name, label, table, system, by_default=False, **further)


def _parameters(truth: Any, *names: str, noise: str = "noise", **how: bool) -> Callable[[Trajectories], System]:
    return lambda data: fit_parameters(data, truth, names, noise, **how)[0]


CASES = [
    _case(
        "repressilator",
        "Repressilator",
        10,
        Repressilator(),
        parametric=_parameters(Repressilator(), "strength", "exponent", "leak", noise="volume", inverse_noise=True),
    ),
    _case(
        "predator-prey",
        "Predator and prey",
        11,
        PredatorPrey(),
        parametric=_parameters(
            PredatorPrey(), "growth", "capacity", "predation", "half_saturation", "efficiency", "mortality"
        ),
    ),
    _case("pendulum", "Pendulum", 12, Pendulum(), parametric=_parameters(Pendulum(), "torque", "damping")),
    _case(
        "periodic-potential",
        "Periodic potential with jumps",
        13,
        PeriodicPotential(),
        parametric=fit_periodic_potential,
        plane=(0, 0),
    ),
    _case(
        "phase-oscillators",
        "Phase oscillators",
        14,
        PhaseOscillators(),
        parametric=_parameters(PhaseOscillators(), "coupling", "spread"),
    ),
    _case("non-gradient-well", "Non-gradient well", 15, NonGradientWell()),
    _case("gene-network", "Gene network", 16, GeneNetwork(), most_train=512),
]
