"""Stretches of consecutive observations, all of one length."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from nke.data import Coordinates, Trajectories


class Windows(eqx.Module):
    """Observed rows of all trajectories end to end, dimensionless, and the rows at which a window may begin."""

    states: Float[Array, "rows d"]
    times: Float[Array, " rows"]
    starts: Int[Array, " windows"]
    length: int = eqx.field(static=True)  # steps of a window

    @classmethod
    def of(cls, data: Trajectories, coordinates: Coordinates, most: int) -> "Windows":
        """Makes windows of ``most`` steps, or of as many as the longest trajectory has."""
        paths = [_observed(data, i, coordinates) for i in range(len(data))]
        lengths = np.array([len(times) for _, times in paths])
        length = int(min(most, lengths.max() - 1))
        first = np.cumsum(lengths) - lengths
        starts = [np.arange(a, a + n - length) for a, n in zip(first, lengths, strict=True) if n > length]
        return cls(
            jnp.asarray(np.concatenate([states for states, _ in paths]), jnp.float32),
            jnp.asarray(np.concatenate([times for _, times in paths]), jnp.float32),
            jnp.asarray(np.concatenate(starts), jnp.int32),
            length,
        )

    def take(self, index: Int[Array, " n"]) -> tuple[Float[Array, "rows n"], Float[Array, "rows n d"]]:
        """Gives the times from the start of each window on, and its states; row by row."""
        rows = jnp.arange(self.length + 1)[:, None] + self.starts[index]
        times = self.times[rows]
        return times - times[:1], self.states[rows]


def _observed(data: Trajectories, i: int, coordinates: Coordinates) -> tuple[np.ndarray, np.ndarray]:
    """Observed states and times of one trajectory; times from its own start, so that float32 tells steps apart."""
    seen = data.observed[i]
    times = data.times[i][seen]
    return coordinates.to(data.states[i][seen]), np.asarray(coordinates.step_to(times - times[:1].sum()))
