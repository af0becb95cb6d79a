"""The parameters of a smooth law: generator, groups, penalties and blocks from a regression."""

import numpy as np
from jaxtyping import Float, Int

from nke.fitting.batches import float32
from nke.fitting.newton import ParameterVector
from nke.fitting.penalised_newton import PenalisedParameters
from nke.fitting.smooth_basis import FeatureSet
from nke.fitting.smooth_regression import Functions, SmoothRegression
from nke.operators import (
    Advection,
    Diffusion,
    Generator,
    KinematicConstraint,
    PoissonJump,
    SmoothDrift,
    SmoothFactor,
    SmoothFunction,
    trainable,
)

MOST_TOGETHER = 600  # parameters of a block; more are stepped function by function


def smooth_generator(
    regression: SmoothRegression, jump: PoissonJump | None, constraint: KinematicConstraint | None
) -> Generator:
    """Builds the law that a regression found.

    Args:
        regression: Drift and noise.
        jump: The jumps.
        constraint: What is known of positions and velocities.

    Returns:
        The law.
    """
    drift, noise = (
        SmoothFunction(part.features.basis(), float32(part.weights)) for part in (regression.drift, regression.noise)
    )
    advection = Advection(SmoothDrift(drift, float32(regression.speed)))
    diffusion = Diffusion(SmoothFactor(noise, float32(regression.start)))
    return Generator.of_free(advection, diffusion, jump, constraint)


def smooth_parameters(
    generator: Generator, regression: SmoothRegression, jumps: FeatureSet | None
) -> PenalisedParameters:
    """Collects the parameters of a smooth law in groups.

    Args:
        generator: The law.
        regression: Where its drift and noise come from.
        jumps: Features of the rate and the shares of the jumps; None without jumps.

    Returns:
        The parameters.
    """
    vector = ParameterVector.of(generator, trainable(generator))
    places, count = vector.places, len(vector.values)
    groups, active, precisions, blocks = np.full(count, -1), np.zeros(count, bool), [], []
    parts = {
        "drift": (places.drift_network.body.weights, regression.drift),
        "noise": (places.noise_factor.body.weights, regression.noise),
    }
    if jumps is not None:
        rates = places.jump_network.mlp.weights
        start = np.ones((len(rates), jumps.count))
        parts["jumps"] = (rates, Functions(jumps, np.ones(rates.shape), start, np.zeros(len(rates))))
    for rows, functions in parts.values():
        used, own = [], functions.features.groups
        for row, weights, strengths in zip(rows.astype(int), functions.weights, functions.precisions, strict=True):
            on = np.append(np.isfinite(strengths), True)[own]
            if is_constant(own, weights, strengths):
                on = np.arange(len(row)) == 0
            active[row] = on
            groups[row] = np.where(own < 0, -1, own + sum(map(len, precisions)))
            precisions.append(strengths)
            used.append(row[on])
        together = np.concatenate(used)
        blocks += [together] if len(together) <= MOST_TOGETHER else used
    if jumps is not None:
        shapes = np.concatenate([a.astype(int).ravel() for a in (places.jump_network.means, places.jump_network.factors)])
        active[shapes] = True
        blocks[-1] = np.concatenate([blocks[-1], shapes])
    values = np.where(active, vector.values, 0.0)
    vector = ParameterVector(vector.fixed, vector.unravel, vector.places, None, values, active)
    constants = {name: rows[:, 0].astype(int) for name, (rows, _) in parts.items()}
    return PenalisedParameters(vector, groups, np.concatenate([*precisions, np.zeros(0)]), tuple(blocks), constants)


def is_constant(
    groups: Int[np.ndarray, " f"], weights: Float[np.ndarray, " f"], precisions: Float[np.ndarray, " g"]
) -> bool:
    """Tells whether a function uses nothing but its constant.

    Args:
        groups: Group of each feature.
        weights: Of the features.
        precisions: λ of the groups.
    """
    return not np.isfinite(precisions).any() and not weights[(groups < 0) & (np.arange(len(groups)) > 0)].any()
