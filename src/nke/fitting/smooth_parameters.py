"""The parameters of a smooth law: generator, groups, penalties and blocks from a regression."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from nke.fitting.batches import float32
from nke.fitting.newton import ParameterVector
from nke.fitting.packet_scores import LinearFunctions, PacketScores
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
        SmoothFunction(part.features.basis(), part.weights, _used(part))
        for part in (regression.drift, regression.noise)
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
    drift: Any = generator.drift_network
    noise: Any = generator.noise_factor
    bodies = {
        "drift": (drift.body, vector.places.drift_network.body, regression.drift),
        "noise": (noise.body, vector.places.noise_factor.body, regression.noise),
    }
    if generator.jump is not None and jumps is not None:
        rates = generator.jump_network.mlp
        start = np.ones((len(rates.rows.value), jumps.count))
        functions = Functions(jumps, rates.table, start, np.zeros(len(start)))
        bodies["jumps"] = (rates, vector.places.jump_network.mlp, functions)
    groups, precisions, blocks, constants = np.full(len(vector.values), -1), np.zeros(0), [], {}
    optional = []
    linear: list[LinearFunctions] = []
    for name, (body, places, functions) in bodies.items():
        at, row = places.weights.astype(int), np.argmax(np.asarray(body.rows.value), axis=0)
        own = functions.features.groups[np.asarray(body.columns)]
        groups[at] = np.where(own < 0, -1, len(precisions) + row * functions.features.count + own)
        precisions = np.concatenate([precisions, functions.precisions.ravel()])
        blocks += [at] if len(at) <= MOST_TOGETHER else [at[row == i] for i in range(len(functions.weights))]
        constant = np.asarray(body.columns) == 0
        constants[name] = at[constant]
        # Without its constant a drift or a correlation is zero; a noise, a rate or a share of jumps is not.
        needed = constant & {"drift": np.zeros(len(at), bool), "noise": _on_the_diagonal(row)}.get(name, constant)
        optional.append(at[(own < 0) & ~needed])
        scale = regression.speed if name == "drift" else np.ones(len(functions.weights))
        linear.append(LinearFunctions(functions.features, row, np.asarray(body.columns), at, scale))
    if "jumps" in bodies:
        jump = vector.places.jump_network
        shapes = [a.astype(int).ravel() for a in (jump.means, jump.factors)]
        blocks[-1], constants["jumps"] = (np.concatenate([part, *shapes]) for part in (blocks[-1], constants["jumps"]))
    scores = None
    if generator.jump is None:
        scores = PacketScores(linear[0], linear[1], regression.start, generator.constraint)
    return PenalisedParameters(
        vector,
        groups,
        precisions,
        tuple(blocks),
        constants,
        scores,
        np.concatenate(optional),
        regression.independent,
    )


def _on_the_diagonal(entry: Int[np.ndarray, " p"]) -> Bool[np.ndarray, " p"]:
    """Whether entries of a lower factor, counted row by row, are on its diagonal."""
    row = ((np.sqrt(8 * entry + 1) - 1) / 2).astype(int)
    return entry == row * (row + 3) // 2


def _used(functions: Functions) -> Bool[np.ndarray, "o f"]:
    """Which weights a function may use: its constant, and where it is more than that, x, its groups and its curves."""
    own = functions.features.groups
    finite = np.isfinite(functions.precisions)
    used = np.concatenate([finite, np.ones((len(finite), 1), bool)], axis=1)[:, own]  # the last column is that of −1
    for i, (weights, precisions) in enumerate(zip(functions.weights, functions.precisions, strict=True)):
        if is_constant(own, weights, precisions):
            used[i] = np.arange(len(own)) == 0
    optional = (own < 0) & (np.arange(len(own)) > 0) & (len(functions.features.curves) > 0)
    return used & (~optional | (functions.weights != 0))


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
