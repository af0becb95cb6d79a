"""The uncertainty of a fitted law, from the curvature of its likelihood at the maximum."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from nke.data import Coordinates, Transitions
from nke.fitting.newton import ParameterVector
from nke.fitting.optimiser import Optimised
from nke.fitting.penalised_newton import PenalisedSums, posterior_covariance, sums
from nke.fitting.sandwich import ScoreSample, sandwich
from nke.model import Uncertainty, far_from_each_other, named_arrays
from nke.operators import ForwardPacket, Generator, TransitionRule

Blocks = Sequence[tuple[Int[np.ndarray, " _"], Float[np.ndarray, "_ _"]]]

FEW_DIRECTIONS = 256  # that are kept as they are
LOST_VARIANCE = 0.01  # of drift, noise or rate at any of the states looked at, by leaving directions out
STATES = 256  # that are looked at, far from each other


def law_uncertainty(
    vector: ParameterVector, covariances: Blocks, offset: Float[np.ndarray, " p"] | None = None
) -> Uncertainty:
    """Takes the covariance of parameters apart into independent directions.

    Args:
        vector: The parameters of the law.
        covariances: Places of the parameters of each block in the vector, and their covariance.
        offset: From the parameters to the middle of their distribution; None: none.

    Returns:
        The directions, as changes of the arrays of the generator.

    Example:
        >>> import jax.numpy as jnp
        >>> from nke.fitting.law_uncertainty import law_uncertainty
        >>> from nke.fitting.newton import ParameterVector
        >>> vector = ParameterVector.of(model.generator, nke.operators.trainable(model.generator))
        >>> found = law_uncertainty(vector, [(np.array([0, 1]), np.diag([4.0, 9.0]))])
        >>> sorted(np.concatenate([a.ravel() for a in found.directions.values()]).tolist())
        [0.0, 0.0, 0.0, 0.0, 2.0, 3.0]
    """
    size = len(vector.values)
    columns = []
    for places, covariance in covariances:
        values, axes = np.linalg.eigh((covariance + covariance.T) / 2)
        root = np.zeros((size, len(places)))
        root[places] = axes * np.sqrt(np.maximum(values, 0.0))
        columns.append(root)
    moved = vector.entries(np.concatenate(columns, axis=1)).T
    directions = named_arrays(vector.unravel(moved.astype(np.float32)))
    if offset is None:
        return Uncertainty(directions)
    return Uncertainty(directions, named_arrays(vector.unravel(vector.entries(offset).astype(np.float32))))


def penalised_uncertainty(
    found: Optimised[PenalisedSums],
    rule: TransitionRule,
    data: Transitions,
    coordinates: Coordinates,
    offset: Float[np.ndarray, " p"] | None = None,
) -> Uncertainty:
    """Takes the posterior covariance of a law under penalties, by the scores of its transitions.

    Args:
        found: The parameters at their maximum, and the sums there.
        rule: The discrete model of a step.
        data: Transitions in the user's units.
        coordinates: Those of training.
        offset: From the parameters of the law to these; None: they are its own.

    Returns:
        The uncertainty of the law.
    """
    at, there = found.parameters, found.evidence
    count = there.count
    sample = ScoreSample.of(at.vector.generator, rule, data, coordinates, 0)
    if not sample.usable:
        return law_uncertainty(at.vector, posterior_covariance(at, there), offset)
    if at.linear is not None and isinstance(rule, ForwardPacket):
        linear, values = at.linear, at.vector.values
        scores = lambda steps: np.concatenate([s for _, s in linear.batches(rule, values, steps)])  # noqa: E731
        whole = sample.information(scores, count)
        pairs = [[part[np.ix_(block, block)] for part in whole] for block in at.blocks]
    else:  # by the compiled program that the fit has used; it gives no scores, only the sums of their products
        drawn = sums(rule, at, sample.drawn)
        more = count / drawn.count
        pairs = [[more * bread, meat] for bread, meat in zip(drawn.information, there.information, strict=True)]
    blocks = []
    for block, (bread, meat) in zip(at.blocks, pairs, strict=True):
        on = at.vector.active[block]
        if on.any():
            here = np.ix_(on, on)
            blocks.append((block[on], sandwich(bread[here], meat[here], at.precision[block[on]])))
    return law_uncertainty(at.vector, blocks, offset)


def together(one: Uncertainty, other: Uncertainty) -> Uncertainty:
    """Takes two independent uncertainties of the same law together.

    Args:
        one: Of some of its arrays.
        other: Of the others; of arrays that both name, that of ``one`` counts.

    Returns:
        All directions.
    """
    rest = {name: moved for name, moved in other.directions.items() if name not in one.directions}
    first, second = one.count, max((len(moved) for moved in rest.values()), default=0)
    nothing = lambda count, moved: np.zeros((count, *moved.shape[1:]), np.float32)  # noqa: E731
    return Uncertainty(
        {n: np.concatenate([m, nothing(second, m)]) for n, m in one.directions.items()}
        | {n: np.concatenate([nothing(first, m), m]) for n, m in rest.items()},
        {**{name: moved for name, moved in other.offset.items() if name in rest}, **one.offset},
    )


def shortened(uncertainty: Uncertainty, generator: Generator, z: Float[np.ndarray, "n d"]) -> Uncertainty:
    """Leaves directions out that move the law nowhere in the data.

    Args:
        uncertainty: Of a law.
        generator: The law.
        z: States of the data.

    Returns:
        Fewer directions, which make up for all but a hundredth of the variance of every coefficient at every state
        looked at.
    """
    if uncertainty.count <= FEW_DIRECTIONS:
        return uncertainty
    what = ("drift", "diffusion", *(() if generator.jump is None else ("jump_rate", "jump_law")))
    moved = uncertainty.moved(generator, far_from_each_other(z, STATES), what)
    rows = np.concatenate(
        [np.moveaxis(np.asarray(p)[:, 1:], 1, -1).reshape(-1, uncertainty.count) for p in jax.tree.leaves(moved)]
    )
    size = np.linalg.norm(rows, axis=1)
    rows = rows[size > 0] / size[size > 0, None]
    if not len(rows):
        return uncertainty
    axes = np.linalg.eigh(rows.T @ rows)[1][:, ::-1]  # those that move the law most first
    kept = np.cumsum((rows @ axes) ** 2, axis=1).min(axis=0)
    count = int(np.searchsorted(kept, 1 - LOST_VARIANCE)) + 1
    return uncertainty.combined(axes[:, :count])


def selected(uncertainty: Uncertainty, generator: Generator, change: Callable[[Generator], Any]) -> Uncertainty:
    """Follows a change of a law that leaves some of its numbers out, such as those of a component of the jumps.

    Args:
        uncertainty: Of the law before the change.
        generator: That law.
        change: Gives the law after it; it must take arrays apart, not compute with them.

    Returns:
        The uncertainty of the law after the change.
    """
    numbered = {
        name: np.arange(1, 1 + moved[0].size, dtype=np.float32).reshape(moved.shape[1:])
        for name, moved in uncertainty.directions.items()
    }
    leaves, structure = jax.tree_util.tree_flatten_with_path(generator)
    marked = structure.unflatten(
        [jnp.asarray(numbered.get(jax.tree_util.keystr(path).lstrip("."), leaf)) if eqx.is_array(leaf) else leaf
         for path, leaf in leaves]
    )  # fmt: skip
    arrays = named_arrays(change(marked))
    places = {name: np.asarray(arrays[name]).astype(int) - 1 for name in numbered}
    return Uncertainty(
        {name: moved.reshape(len(moved), -1)[:, places[name]] for name, moved in uncertainty.directions.items()},
        {name: moved.ravel()[places[name]] for name, moved in uncertainty.offset.items()},
    )
