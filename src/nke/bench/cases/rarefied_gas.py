"""The paper's coarse-graining: a heavy sphere among light particles, far from and near to Brownian motion."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import kurtosis

from nke.bench.parametric import fit_langevin
from nke.bench.protocol import Case, Printed
from nke.evaluation.ensemble import wasserstein
from nke.systems import RarefiedGas

POSITIONS = {"x1": "v1", "x2": "v2", "x3": "v3"}


def path_statistics(
    paths: Float[np.ndarray, "m t d"], reference: Float[np.ndarray, "n t d"], times: Float[np.ndarray, " t"]
) -> dict[str, float]:
    """Computes what a physicist reads off the paths, per component.

    W1 is in standard deviations of the reference's increments.
    """
    velocity, position = paths[..., 3:], paths[..., :3]
    lag = int(np.searchsorted(times, times[0] + 1 - 1e-9))
    kicks, expected = (np.diff(p[..., 3:], axis=1).reshape(-1, 3) for p in (paths, reference))
    return {
        "velocity_variance": float(np.mean(velocity**2)),
        "autocorrelation": float(np.mean(velocity[:, :-lag] * velocity[:, lag:]) / np.mean(velocity**2)),
        "displacement": float(np.mean((position[:, -1] - position[:, 0]) ** 2)),
        "velocity_kurtosis": float(np.mean(kurtosis(kicks, axis=0))),
        "velocity_increment_wasserstein": float(np.mean(wasserstein(kicks, expected) / expected.std(axis=0))),
    }


def law_statistics(model: Any, states: Float[np.ndarray, "n d"]) -> dict[str, float]:
    """Computes friction γ and diffusivity D of the velocity, jumps included: −γV = f + λ⟨ΔV⟩ and 2γ²D = a + λ⟨ΔV²⟩."""
    velocity = states[:, 3:]
    pull, spread = np.asarray(model.drift(states))[:, 3:], np.asarray(model.diffusion(states))[:, 3:, 3:]
    rate = np.asarray(model.jump_rate(states)) if model.has_jumps else np.zeros(len(states))
    square = np.trace(spread, axis1=1, axis2=2) / 3
    if model.has_jumps:
        law = model.jump_law(states)
        mean, covariance = np.asarray(law.mean)[:, -3:], np.asarray(law.covariance)[:, -3:, -3:]
        pull = pull + rate[:, None] * mean
        square = square + rate * (np.trace(covariance, axis1=1, axis2=2) + np.sum(mean**2, axis=1)) / 3
    friction = -float(np.sum(pull * velocity) / np.sum(velocity**2))
    return {
        "friction": friction,
        "diffusivity": float(square.mean() / (2 * friction**2)),
        "collision_rate": float(rate.mean()) if model.has_jumps else float("nan"),
    }


def _case(name: str, label: str, gas: RarefiedGas, table: float, paper: Mapping[str, Printed]) -> Case:
    return Case(
        name,
        label,
        table,
        gas,
        fit_langevin,
        most_train=512,
        paper=paper,
        labels={"parametric": "Langevin, moment-matched"},
        options={"kinetic": POSITIONS, "invariant": tuple(POSITIONS)},
        path_statistics=path_statistics,
        law_statistics=law_statistics,
        statistics={
            "velocity_variance": "Var V",
            "autocorrelation": "Autocorrelation at 1",
            "displacement": "MSD(2)",
            "velocity_kurtosis": "Excess kurtosis of ΔV",
            "velocity_increment_wasserstein": "W1 of ΔV",
            "friction": "γ",
            "diffusivity": "D",
            "collision_rate": "Collision rate",
        },
    )


CASES = [
    _case(
        "rarefied-gas",
        "Rarefied gas, mass ratio 10",
        RarefiedGas(),
        4,
        {
            "trajectory-flow-matching": Printed("1.0277 ± 0.0916", "1.1150 ± 2.6132", "0.5121 ± 0.0024", "270.5 ± 4.7"),
            "sde-gan": Printed("--", "--", "--", "--"),
            "euler-maruyama": Printed("0.0423 ± 0.0036", "1.1155 ± 0.2612", "0.3121 ± 0.0024", "206.3 ± 3.4"),
            "likelihood": Printed("0.0343 ± 0.0132", "0.1365 ± 0.0021", "0.2321 ± 0.0154", "323.1 ± 25.3"),
        },
    ),
    _case("near-brownian-gas", "Gas near the Brownian limit, mass ratio 1000", RarefiedGas(mass_ratio=1000.0), 4.5, {}),
]
