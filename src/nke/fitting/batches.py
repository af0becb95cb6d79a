"""What the optimisers draw from: transitions in dimensionless coordinates, and blocks of any data of a loss."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from nke.arrays import Array as AnyArray
from nke.data import Coordinates, Transitions


class Steps(NamedTuple):
    """Transitions in dimensionless coordinates.

    Attributes:
        x: States at which the transitions begin.
        displacement: Next states minus these.
        step: Times between.

    Example:
        >>> import jax.numpy as jnp
        >>> steps = nke.fitting.Steps(jnp.zeros((5, 2)), jnp.ones((5, 2)), jnp.full(5, 0.1))
        >>> steps.displacement.shape, steps.step.shape
        ((5, 2), (5,))
    """

    x: Float[Array, "t d"]
    displacement: Float[Array, "t d"]
    step: Float[Array, " t"]

    def take(self, chosen: Int[np.ndarray, " n"] | Bool[np.ndarray, " t"]) -> "Steps":
        """Takes some of the transitions, by NumPy: each number of them would need programs of its own.

        Args:
            chosen: Their indices, or a mask.

        Returns:
            These transitions.

        Example:
            >>> import jax.numpy as jnp
            >>> steps = nke.fitting.Steps(jnp.zeros((5, 2)), jnp.ones((5, 2)), jnp.full(5, 0.1))
            >>> steps.take(np.array([0, 3])).step.shape
            (2,)
        """
        return Steps(*(jnp.asarray(np.asarray(a)[chosen]) for a in self))


class Blocks(NamedTuple):
    """Data of a loss, cut into blocks of particles.

    With ``skew`` γ > 1 a block of relative rank v ∈ (0, 1) is drawn with density v^{1/γ − 1}/γ: the first ones, which
    should be the most informative, come more often, and their weights γ v^{1 − 1/γ} make up for it.

    Attributes:
        arrays: Any arrays, which the loss indexes by block.
        blocks: The number of blocks to draw from.
        particles: The particles in each.
        skew: The preference γ for the first blocks.
        most_evaluated: Particles that a held-out loss looks at; more would cost more than they tell.

    Example:
        >>> import jax.numpy as jnp
        >>> blocks = nke.fitting.Blocks(jnp.zeros((10, 32, 1)), blocks=10, particles=32)
        >>> blocks.blocks * blocks.particles
        320
    """

    arrays: PyTree[Array]
    blocks: int
    particles: int
    skew: float = 1.0
    most_evaluated: int = 1 << 15

    def draw(self, uniform: Float[Array, " n"]) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
        """Draws blocks by numbers spread over (0, 1).

        Args:
            uniform: One number for each block that is drawn.

        Returns:
            Indices of the blocks and their weights.

        Example:
            >>> import jax.numpy as jnp
            >>> index, weights = nke.fitting.Blocks(jnp.zeros(10), 10, 1, skew=2.0).draw(jnp.array([0.25, 0.5]))
            >>> index.tolist(), weights.tolist()  # 10·u² and 2·u
            ([0, 2], [0.5, 1.0])
        """
        index = (self.blocks * uniform**self.skew).astype(jnp.int32)
        return jnp.minimum(index, self.blocks - 1), self.skew * uniform ** (self.skew - 1)

    def evaluated(self) -> tuple[Int[AnyArray, " n"], Float[AnyArray, " n"]]:
        """Chooses the blocks that an evaluation looks at, the same for any parameters.

        Returns:
            Indices of all blocks, or of as many as ``most_evaluated`` allows, spread evenly over the ranks; and their
            weights.

        Example:
            >>> import jax.numpy as jnp
            >>> nke.fitting.Blocks(jnp.zeros(8), 8, 1, most_evaluated=2).evaluated()[0].tolist()
            [2, 6]
        """
        most = max(1, self.most_evaluated // self.particles)
        if self.blocks <= most:
            return np.arange(self.blocks), np.ones(self.blocks, np.float32)
        return self.draw((jnp.arange(most) + 0.5) / most)


class TrainingData(NamedTuple):
    """Transitions to train on and held out, as blocks of one transition each.

    Attributes:
        training: Blocks whose arrays are ``Steps``.
        held_out: Likewise.
    """

    training: Blocks
    held_out: Blocks

    def sample(self, most: int) -> Steps:
        """Takes at most so many training transitions, of every size of motion alike.

        Args:
            most: Their number.

        Returns:
            The transitions.
        """
        count = self.training.blocks
        chosen = np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(int)
        return self.training.arrays.take(chosen)

    def held_out_steps(self) -> Steps:
        """Takes the held-out transitions that losses are computed on."""
        return self.held_out.arrays.take(np.asarray(self.held_out.evaluated()[0]))


def transition_blocks(
    part: Transitions, coordinates: Coordinates, free: Int[np.ndarray, " r"], skew: float = 1.0
) -> Blocks:
    """Orders transitions by falling size of the motion: every batch then has its share of large and small ones.

    Args:
        part: Transitions in the user's units.
        coordinates: Those of training.
        free: Indices of the coordinates whose motion counts.
        skew: The preference for large motions, see ``Blocks``.

    Returns:
        Blocks of one transition each.
    """
    displacement, step = coordinates.displacement_to(part.displacement), coordinates.step_to(part.step)
    order = _largest_first(motion_size(displacement[:, free], step))
    steps = Steps(float32(coordinates.to(part.x)[order]), float32(displacement[order]), float32(step[order]))
    return Blocks(steps, len(part), 1, skew)


def some_transitions(part: Transitions, most: int, seed: int) -> Transitions:
    """Takes all transitions of a part, or as many at random as averages need.

    Args:
        part: The transitions.
        most: How many averages need.
        seed: Of the choice.

    Returns:
        Transitions in their order.
    """
    if len(part) <= most:
        return part
    return part.take(np.sort(np.random.default_rng(seed).choice(len(part), most, replace=False)))


def motion_size(displacement: Float[np.ndarray, "t d"], step: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """Computes the length of each displacement over √step, coordinates in units of their typical motion."""
    scale = np.median(np.abs(displacement), axis=0)
    return np.sqrt(np.sum((displacement / np.where(scale > 0, scale, 1.0)) ** 2, axis=1) / step)


def float32(a: np.ndarray) -> Float[Array, "..."]:
    """Brings an array to the precision of training."""
    with np.errstate(over="ignore"):
        return jnp.asarray(np.asarray(a, np.float32))  # cast before, which needs no program


def _largest_first(size: Float[np.ndarray, " t"]) -> Int[np.ndarray, " t"]:
    """Indices by falling size, told apart to 16 bits: a radix sort takes a fifth of the time of a full one."""
    typical = np.median(size) or 1.0
    return np.argsort((np.iinfo(np.uint16).max * (typical / (typical + size))).astype(np.uint16), kind="stable")
