"""Where a function was learned: beyond it, its value is that at the nearest state that was seen."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nke.arrays import Array as AnyArray
from nke.operators.configuration import Configuration
from nke.operators.networks.parameters import Fixed

MOST_STATES = 256  # that stand for all others: as dear as the kernels of a smooth law


class SeenStates(eqx.Module):
    """Some states of the data, so spread that every other one is within a distance from one of them.

    Args:
        states: These states.
        reach: The distance.
        box: Lowest and highest value of each coordinate in the data.

    Attributes:
        states: As above, not trained.
        reach: As above, not trained.
        box: As above, not trained.

    Example:
        >>> seen = nke.operators.SeenStates.of(np.linspace(0.0, 1.0, 11)[:, None])
        >>> import jax.numpy as jnp
        >>> [round(float(seen.nearest(jnp.array([x]))[0]), 3) for x in (0.4, 5.0)]
        [0.4, 1.0]
    """

    states: Fixed
    reach: Fixed
    box: Fixed

    def __init__(self, states: Float[AnyArray, "n d"], reach: Float[AnyArray, ""], box: Float[AnyArray, "2 d"]):
        self.states, self.reach, self.box = (Fixed(jnp.asarray(a, jnp.float32)) for a in (states, reach, box))

    @classmethod
    def of(cls, x: Float[np.ndarray, "n d"], most: int = MOST_STATES) -> "SeenStates":
        """Takes states of the data, each the farthest from those before it.

        In one dimension the box alone says where the data has been: a gap between its states is no border.

        Args:
            x: All states, in coordinates in which they are of order one.
            most: How many are taken at most.

        Returns:
            These states, and the distance within which every other one has one of them.

        Example:
            >>> seen = nke.operators.SeenStates.of(np.array([[0.0, 0.0], [1.0, 0.0], [0.6, 0.0]]), most=2)
            >>> seen.states.value.tolist(), round(float(seen.reach.value), 3)
            ([[0.0, 0.0], [1.0, 0.0]], 0.4)
        """
        taken, distance = [0], np.linalg.norm(x - x[0], axis=1)
        most = most if x.shape[1] > 1 else 1
        while len(taken) < most and distance.max() > 0:
            taken.append(int(distance.argmax()))
            distance = np.minimum(distance, np.linalg.norm(x - x[taken[-1]], axis=1))
        reach = distance.max() if x.shape[1] > 1 else np.ptp(x)
        return cls(x[taken], np.asarray(reach), np.stack([x.min(axis=0), x.max(axis=0)]))

    def nearest(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """The state itself where the data has been, else one on the way to the nearest state of the data.

        Args:
            x: A state.

        Returns:
            A state within the box, no farther than the reach from a state that was seen.
        """
        x = jnp.clip(x, *self.box.value)
        gap = x - self.states.value
        squares = jnp.sum(gap * gap, axis=-1)
        closest = jnp.argmin(squares)
        # Rounding must not move a state of the data.
        share = self.reach.value * (1 + 1e-5) / jnp.sqrt(squares[closest] + jnp.finfo(x.dtype).tiny)
        return jnp.where(share < 1, self.states.value[closest] + share * gap[closest], x)

    def configuration(self) -> Configuration:
        """Their number, as JSON values.

        Example:
            >>> nke.operators.SeenStates.of(np.zeros((5, 2))).configuration()
            {'states': 1}
        """
        return {"states": len(self.states.value)}

    @classmethod
    def from_configuration(cls, configuration: Configuration | None, inputs: int) -> "SeenStates | None":
        """States whose values are still to be filled.

        Args:
            configuration: What ``configuration()`` gave, or None.
            inputs: Number of coordinates of the state.

        Returns:
            The states; None where there are none.

        Example:
            >>> nke.operators.SeenStates.from_configuration({"states": 3}, inputs=2).states.value.shape
            (3, 2)
        """
        if configuration is None:
            return None
        return cls(jnp.zeros((configuration["states"], inputs)), jnp.zeros(()), jnp.zeros((2, inputs)))
