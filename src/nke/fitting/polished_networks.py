"""The parameters of a law with networks in which it is linear: last layers and polynomial skips.

With the hidden layers fixed, drift and noise are sums of known functions of the state, as a smooth law is. So the same
method finds their weights (``penalised_newton.py``): Newton's method under the transition density, with one Gaussian
penalty for the hidden units of each output and one for each power of the skip, their strengths by evidence. What the
data does not ask for becomes exactly zero.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from nke.fitting.newton import ParameterVector
from nke.fitting.penalised_newton import PenalisedParameters
from nke.operators import ConstantFactor, Generator, monomial_degrees, trainable

MOST_TOGETHER = 600  # parameters of a block; more are stepped output by output


@dataclass(frozen=True)
class LinearPart:
    """Parameters in which one coefficient of a law is linear, output by output.

    Attributes:
        hidden: Places of the weights of the hidden units.
        powers: Places of the coefficients of each power of the state, that of the first power among them.
        penalised: Whether the coefficients of each power are penalised.
        constants: Places of the constants.
        shapes: Places of parameters that belong to no output.
    """

    hidden: Int[np.ndarray, "o w"]
    powers: tuple[Int[np.ndarray, "o _"], ...]
    penalised: tuple[bool, ...]
    constants: Int[np.ndarray, " o"]
    shapes: Int[np.ndarray, " n"]

    def groups(self) -> Iterator[Int[np.ndarray, " _"]]:
        """Yields the places of the parameters of each group with a penalty."""
        kinds = [self.hidden, *(power for power, used in zip(self.powers, self.penalised, strict=True) if used)]
        for kind in kinds:
            yield from (row for row in kind if len(row))

    def blocks(self) -> list[Int[np.ndarray, " _"]]:
        """Lists the parameters that are stepped together."""
        rows = [np.concatenate(parts) for parts in zip(self.constants[:, None], self.hidden, *self.powers, strict=True)]
        together = np.concatenate([*rows, self.shapes])
        if len(together) <= MOST_TOGETHER:
            return [together]
        return [*rows, *([self.shapes] if len(self.shapes) else [])]


def linear_parameters(generator: Generator) -> PenalisedParameters:
    """Collects last layers, skips and the shapes of jumps in groups.

    Args:
        generator: A law with networks.

    Returns:
        The parameters; the hidden layers stay as they are.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from nke.fitting.polished_networks import linear_parameters
        >>> drift = nke.operators.DriftNetwork(jnp.ones(1), width=4, depth=1, degree=2, key=jax.random.key(0))
        >>> noise = nke.operators.ConstantFactor(jnp.eye(1), key=jax.random.key(0))
        >>> law = nke.operators.Generator(nke.operators.Advection(drift), nke.operators.Diffusion(noise))
        >>> found = linear_parameters(law)  # 1, x, x² and four hidden units of the drift; one number for the noise
        >>> len(found.vector.values), np.bincount(found.groups + 1).tolist()
        (8, [3, 4, 1])
    """
    generator = _with_one_constant(generator)
    vector = ParameterVector.of(generator, _linear_mask(generator))
    parts = _parts(generator, vector.places)
    groups, precisions = np.full(len(vector.values), -1), []
    for part in parts.values():
        for places in part.groups():
            groups[places] = len(precisions)
            precisions.append(_first_precision(vector.values[places]))
    blocks = [block for part in parts.values() for block in part.blocks()]
    constants = {name: part.constants for name, part in parts.items()}
    return PenalisedParameters(vector, groups, np.array(precisions), tuple(blocks), constants)


def hidden_weights(at: PenalisedParameters, coefficient: str) -> Bool[np.ndarray, " p"]:
    """Tells the weights of the hidden units of a coefficient.

    Args:
        at: The parameters.
        coefficient: Drift, noise or jumps.
    """
    hidden = _parts(at.vector.generator, at.vector.places)[coefficient].hidden
    return np.isin(np.arange(len(at.vector.values)), hidden)


def hidden_weights_in_use(generator: Generator) -> dict[str, int]:
    """Counts the weights of hidden units that are not zero.

    Args:
        generator: A law with networks.

    Returns:
        Their number in drift, noise and jumps.
    """
    at = linear_parameters(generator)
    return {name: int((at.vector.values[hidden_weights(at, name)] != 0).sum()) for name in at.constants}


def _first_precision(values: Float[np.ndarray, " n"]) -> float:
    """The precision to start with: that of the values, at least that of a function of order one."""
    return len(values) / max(float(np.sum(values**2)), 1.0)


def _with_one_constant(generator: Generator) -> Generator:
    """The same law, the constants of last layers added to those of the skips: two constants cannot be told apart."""
    for select in (_drift_body, _noise_body):
        body = select(generator)
        if body is not None:
            where = lambda g, select=select: (select(g).skip.bias, select(g).mlp.layers[-1].bias)  # noqa: E731
            skip, last = where(generator)
            generator = eqx.tree_at(where, generator, (skip + last, 0 * last))
    return generator


def _linear_mask(generator: Generator) -> Any:
    """True for the arrays in which the law is linear and for the shapes of jumps."""
    nothing = jax.tree.map(lambda _: False, trainable(generator))
    return eqx.tree_at(_linear_arrays, nothing, replace_fn=lambda _: True)


def _linear_arrays(tree: Any) -> list[Any]:
    """The arrays of a law that are learned, or what another tree of its structure has in their place."""
    arrays = []
    for body in (_drift_body(tree), _noise_body(tree)):
        if body is not None:
            arrays += [body.skip.weight, body.skip.bias, body.mlp.layers[-1].weight]
    if isinstance(tree.noise_factor, ConstantFactor):
        arrays.append(tree.noise_factor.raw)
    if tree.jump is not None:
        jump = tree.jump_network
        arrays += [jump.mlp.layers[-1].weight, jump.mlp.layers[-1].bias, jump.means, jump.factors]
    return arrays


def _parts(generator: Generator, places: Any) -> dict[str, LinearPart]:
    """Where the parameters of drift, noise and jumps are in the vector."""
    parts = {"drift": _body_part(_drift_body(generator), _drift_body(places), linear_penalised=False)}
    noise = _noise_body(generator)
    if noise is not None:
        parts["noise"] = _body_part(noise, _noise_body(places), linear_penalised=True)
    else:
        parts["noise"] = _part(places.noise_factor.raw)
    if generator.jump is not None:
        jump = places.jump_network
        shapes = np.concatenate([jump.means.ravel(), jump.factors.ravel()])
        parts["jumps"] = _part(jump.mlp.layers[-1].bias, jump.mlp.layers[-1].weight, shapes=shapes)
    return parts


def _body_part(body: Any, places: Any, linear_penalised: bool) -> LinearPart:
    """A polynomial and a network; the noise may do without its slopes, the drift seldom."""
    powers, degree = places.skip.weight.astype(int), body.degree
    degrees = monomial_degrees(body.mlp.in_size, degree, body.pairs)
    by_power = tuple(powers[:, degrees == k] for k in range(1, degree + 1))
    penalised = tuple(k > 1 or linear_penalised for k in range(1, degree + 1))
    return _part(places.skip.bias, places.mlp.layers[-1].weight, by_power, penalised)


def _part(constants: Any, hidden: Any = None, powers: Any = (), penalised: Any = (), shapes: Any = ()) -> LinearPart:
    none = np.zeros((len(constants), 0), int)
    hidden = none if hidden is None else hidden.astype(int)
    return LinearPart(hidden, powers, penalised, constants.astype(int), np.asarray(shapes, int))


def _drift_body(tree: Any) -> Any:
    return tree.drift_network.body


def _noise_body(tree: Any) -> Any:
    return None if isinstance(tree.noise_factor, ConstantFactor) else tree.noise_factor.body
