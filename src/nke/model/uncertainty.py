"""How far the parameters of a law may be off, and how far that moves what the law says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nke.arrays import Array as AnyArray
from nke.arrays import compiled
from nke.mixtures import GaussianMixture
from nke.model.batched import in_blocks
from nke.operators import Generator, SeenStates, SmoothFactor, SmoothFunction

DIRECTION, OFFSET = "uncertainty.directions.", "uncertainty.offset."  # before the names of these arrays in a file
DERIVATIVES = 1 << 14  # states × directions at a time: some hundred megabytes under the features of a smooth law


class Moved(NamedTuple):
    """By how much the offset, then each direction, moves what a law says at n states; None: not asked for, no jumps."""

    drift: Float[AnyArray, "*n d"] | None = None
    diffusion: Float[AnyArray, "*n d d"] | None = None
    jump_rate: Float[AnyArray, "*n"] | None = None
    jump_law: GaussianMixture | None = None


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Independent directions in which the parameters of a law may be off, by one standard deviation each.

    Attributes:
        directions: By the name of each uncertain array of the generator, how far each of r directions moves it:
            shape (r, ...) for an array of shape (...).
        offset: By the same names, from the law to where its parameters are most likely: terms that were dropped, being
            within their errors from zero, are there what the data says of them. Empty: it is the law itself.

    Example:
        >>> model.uncertainty.count  # constant and slope of the drift, one number of the noise
        3
    """

    directions: Mapping[str, Float[np.ndarray, "r ..."]]
    offset: Mapping[str, Float[np.ndarray, "..."]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of directions r."""
        return max((len(moved) for moved in self.directions.values()), default=0)

    def moved(self, generator: Generator, z: Float[np.ndarray, "n d"], what: Sequence[str]) -> Moved:
        """Computes how far the offset, then each direction, moves drift, diffusion or jumps of a law, to first order.

        Args:
            generator: The law whose parameters they are.
            z: Dimensionless states.
            what: Fields of ``Moved``.

        Returns:
            Changes at every state, in dimensionless coordinates.
        """
        most = 1 << max(0, (DERIVATIVES // max(self.count, 1)).bit_length() - 1)
        directions = {
            name: jnp.asarray(np.concatenate([self.offset.get(name, 0 * moved[0])[None], moved]), jnp.float32)
            for name, moved in self.directions.items()
        }
        return in_blocks(lambda z: _moved(generator, directions, z, tuple(what)), z, most=most)

    def belongs_to(self, generator: Generator) -> bool:
        """Tells whether a law has the arrays that are uncertain."""
        arrays = named_arrays(generator)
        return all(
            name in arrays and np.shape(arrays[name]) == np.shape(moved)[1:] for name, moved in self.directions.items()
        )

    def without(self, prefix: str) -> "Uncertainty":
        """Takes the arrays whose names begin so for certain."""
        kept = (
            {name: array for name, array in arrays.items() if not name.startswith(prefix)}
            for arrays in (self.directions, self.offset)
        )
        return Uncertainty(*kept)

    def combined(self, weights: Float[np.ndarray, "r s"]) -> "Uncertainty":
        """Takes weighted sums of the directions as new ones."""
        summed = {name: np.tensordot(weights.T, moved, axes=1) for name, moved in self.directions.items()}
        return Uncertainty(summed, self.offset)

    def tensors(self) -> dict[str, np.ndarray]:
        """Gives the arrays to be stored, by name."""
        named = {DIRECTION + name: moved for name, moved in self.directions.items()}
        named |= {OFFSET + name: moved for name, moved in self.offset.items()}
        return {name: np.asarray(array, np.float32) for name, array in named.items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, np.ndarray]) -> "Uncertainty | None":
        """Finds what ``tensors`` gave among the arrays of a file; None where there is nothing of it."""
        directions, offset = (
            {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
            for prefix in (DIRECTION, OFFSET)
        )
        return cls(directions, offset) if directions else None


def named_arrays(tree: Any) -> dict[str, Any]:
    """The arrays of a tree by their places in it, such as ``advection.drift.body.skip.weight``."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path).lstrip("."): leaf for path, leaf in leaves if eqx.is_array(leaf)}


def with_arrays(generator: Generator, arrays: Mapping[str, Any]) -> Generator:
    """The law with other arrays in some of its places."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(generator)
    names = [jax.tree_util.keystr(path).lstrip(".") for path, _ in leaves]
    return structure.unflatten([arrays.get(name, leaf) for name, (_, leaf) in zip(names, leaves, strict=True)])


@compiled
def _moved(generator: Generator, directions: dict[str, Array], z: Float[Array, "n d"], what: tuple[str, ...]) -> Moved:
    here = named_arrays(generator)
    start = {name: here[name] for name in directions}

    def values(arrays: dict[str, Array]) -> Moved:
        # Where the law is cut off beyond the data its derivatives would vanish, and with them all doubt.
        law = _as_at_nearest(with_arrays(generator, arrays))

        def one(z: Float[Array, " d"]) -> Moved:
            drift = law.advection.drift(z) if "drift" in what else None
            diffusion = law.diffusion.tensor(z) if "diffusion" in what else None
            if law.jump is None:
                return Moved(drift, diffusion)
            rate = law.jump.intensity(z) if "jump_rate" in what else None
            return Moved(drift, diffusion, rate, law.jump.law(z) if "jump_law" in what else None)

        return jax.vmap(one)(z)

    def along(direction: dict[str, Array]) -> Moved:
        return jax.jvp(values, (start,), (direction,))[1]

    return jax.vmap(along, out_axes=1)(directions)


class _AtNearest(eqx.Module):
    """A function that is, beyond the states of the data, as at the nearest of them."""

    function: Any
    seen: SeenStates

    def __call__(self, x: Float[Array, " d"]) -> Any:
        return self.function(self.seen.nearest(x))


def _as_at_nearest(law: Generator) -> Generator:
    """The law with noise and jumps that are, where their limits would cut them off, as at the nearest state seen."""
    seen = getattr(law.drift_network, "seen", None)
    if isinstance(law.noise_factor, SmoothFactor):
        law = eqx.tree_at(lambda g: g.noise_factor.body, law, law.noise_factor.body.unlimited())
        if seen is not None:
            law = eqx.tree_at(lambda g: g.noise_factor, law, _AtNearest(law.noise_factor, seen))
    if law.jump is not None and isinstance(getattr(law.jump_network, "mlp", None), SmoothFunction):
        law = eqx.tree_at(lambda g: g.jump_network.mlp, law, law.jump_network.mlp.unlimited())
        if seen is not None:
            law = eqx.tree_at(lambda g: g.jump_network, law, _AtNearest(law.jump_network, seen))
    return law
