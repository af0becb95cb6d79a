"""What is known of an equation before it is learned: positions that follow velocities, uniform space, angles.

The learned functions see the whole state and give the other coordinates alone; here they are put in their places. Of an
angle they see cosine and sine, so that the law is the same after a turn. The
positions have no noise and no jumps of their own, so that the diffusion tensor is singular by construction.
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nke.arrays import Array as AnyArray
from nke.arrays import namespace
from nke.mixtures import GaussianMixture
from nke.operators.configuration import Configuration
from nke.operators.networks import Fixed, JumpMixture, JumpNetwork, MixtureDensityNetwork
from nke.operators.operator import Step


class KinematicConstraint(eqx.Module):
    """Positions that follow their velocities, dx_p/dt = slope·x_v + offset, coordinates that do not matter, and angles.

    Attributes:
        positions: The coordinates that are positions.
        velocities: The velocity of each of them.
        invariant: The coordinates that the law does not depend on.
        dimension: Number of coordinates of the state.
        slope: From the scaled velocities to the change of the scaled positions; not trained.
        offset: Likewise.
        periodic: The coordinates that are angles.
        frequency: Radians per unit of each of them; not trained, None without angles.
        phase: Radians at their zero, likewise.

    Example:
        >>> import jax.numpy as jnp
        >>> Fixed = nke.operators.Fixed
        >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (0,), 2, Fixed(jnp.ones(1)), Fixed(jnp.zeros(1)))
        >>> constraint.free, constraint.seen(jnp.array([5.0, 2.0])).tolist()
        ((1,), [0.0, 2.0])
        >>> angle = {"periodic": (0,), "frequency": Fixed(jnp.ones(1)), "phase": Fixed(jnp.zeros(1))}
        >>> known = nke.operators.KinematicConstraint((), (), (), 2, Fixed(jnp.ones(0)), Fixed(jnp.zeros(0)), **angle)
        >>> known.seen(jnp.array([0.0, 2.0])).tolist(), known.inputs  # cosine in its place, the sine behind
        ([1.0, 2.0, 0.0], 3)
    """

    positions: tuple[int, ...] = eqx.field(static=True)
    velocities: tuple[int, ...] = eqx.field(static=True)
    invariant: tuple[int, ...] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    slope: Fixed
    offset: Fixed
    periodic: tuple[int, ...] = eqx.field(static=True, default=())
    frequency: Fixed | None = None
    phase: Fixed | None = None

    @property
    def inputs(self) -> int:
        """Number of columns of the state as the learned functions see it.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> nke.operators.KinematicConstraint((0,), (1,), (0,), 2, one, zero).inputs
            2
        """
        return self.dimension + len(self.periodic)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The visible columns of cosine and sine of each angle.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero, (0,), one, zero).pairs
            ((0, 2),)
        """
        return tuple((i, self.dimension + k) for k, i in enumerate(self.periodic))

    @property
    def free(self) -> tuple[int, ...]:
        """The coordinates that are not positions.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (0,), 2, one, zero)
            >>> constraint.free
            (1,)
        """
        return tuple(i for i in range(self.dimension) if i not in self.positions)

    def seen(self, x: Float[AnyArray, "*batch d"]) -> Float[AnyArray, "*batch n"]:
        """The state as the learned functions see it.

        Args:
            x: States, NumPy or JAX.

        Returns:
            The states with zeros for the coordinates that the law does not depend on; an angle is replaced by its
            cosine, and the sines of all angles follow behind.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (0,), 2, one, zero)
            >>> constraint.seen(np.array([5.0, 2.0])).tolist()
            [0.0, 2.0]
        """
        counts = np.array([i not in self.invariant for i in range(self.dimension)], x.dtype)
        if self.frequency is None or self.phase is None:
            return x * counts
        xp, where = namespace(x), np.array(self.periodic)
        frequency, phase = (xp.asarray(a.value, x.dtype) for a in (self.frequency, self.phase))
        angle = frequency * x[..., where] + phase
        place = np.zeros((len(where), self.dimension), x.dtype)
        place[np.arange(len(where)), where] = 1.0
        others = x * (1 - place.sum(axis=0)) + xp.cos(angle) @ place
        return xp.concatenate([others * counts, xp.sin(angle) * counts[where]], axis=-1)

    def velocity(self, x: Float[Array, " d"]) -> Float[Array, " p"]:
        """Time derivative of the positions.

        Args:
            x: One state.

        Returns:
            A number for each position.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> constraint.velocity(jnp.array([5.0, 2.0])).tolist()
            [2.0]
        """
        return self.slope.value * x[np.array(self.velocities, int)] + self.offset.value

    def embed(self, positions: Float[Array, "p ..."], free: Float[Array, "r ..."]) -> Float[Array, "d ..."]:
        """Rows of the whole state from those of its two parts.

        Args:
            positions: A row for each position.
            free: A row for each of the other coordinates.

        Returns:
            A row for each coordinate.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> constraint.embed(jnp.array([5.0]), jnp.array([2.0])).tolist()
            [5.0, 2.0]
        """
        return jnp.concatenate([positions, free])[np.argsort(self.positions + self.free)]

    def halfway(self, x: Float[Array, " d"], step: Step) -> Float[Array, " p"]:
        """Where the positions are halfway through a step, to second order in it.

        Args:
            x: State at the start of the step.
            step: Length of the step.

        Returns:
            A number for each position.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> constraint.halfway(jnp.array([5.0, 2.0]), 0.5).tolist()
            [5.5]
        """
        return x[jnp.array(self.positions, int)] + step / 2 * self.velocity(x)

    def carry(self, law: GaussianMixture, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """The displacement of the whole state from that of the free coordinates: Δp = s·(v + Δv/2).

        Args:
            law: Displacement of the free coordinates over the step.
            x: State at the start of the step.
            step: Length of the step.

        Returns:
            Displacement of all coordinates.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> faster = nke.GaussianMixture.point(jnp.ones(1))
            >>> constraint.carry(faster, jnp.array([5.0, 2.0]), 0.5).means.tolist()  # 0.5·(2 + 1/2) and 1
            [[1.25, 1.0]]
        """
        free, still = jnp.eye(len(self.free), dtype=x.dtype), jnp.zeros((len(self.positions), len(self.free)), x.dtype)
        faster = self.embed(still, free)[np.array(self.velocities, int)]
        spread = self.embed(step / 2 * self.slope.value[:, None] * faster, free)
        flown = self.embed(step * self.velocity(x), jnp.zeros(len(self.free), x.dtype))
        return GaussianMixture(law.weights, flown + law.means @ spread.T, spread @ law.covariances @ spread.T)

    def configuration(self) -> Configuration:
        """The options of the constraint, as JSON values.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> constraint.configuration()
            {'positions': [0], 'velocities': [1], 'invariant': [], 'periodic': []}
        """
        return {name: list(getattr(self, name)) for name in ("positions", "velocities", "invariant", "periodic")}

    @classmethod
    def from_configuration(cls, configuration: Configuration, dimension: int) -> "KinematicConstraint":
        """A constraint of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            dimension: Number of coordinates of the state.

        Returns:
            The constraint.

        Example:
            >>> stored = {"positions": [0], "velocities": [1], "invariant": [], "periodic": [0]}
            >>> nke.operators.KinematicConstraint.from_configuration(stored, dimension=2).configuration() == stored
            True
        """
        positions, velocities, invariant, periodic = (
            tuple(configuration.get(name, ())) for name in ("positions", "velocities", "invariant", "periodic")
        )
        slope, offset = (Fixed(jnp.zeros(len(positions))) for _ in range(2))
        frequency, phase = (Fixed(jnp.zeros(len(periodic))) if periodic else None for _ in range(2))
        return cls(positions, velocities, invariant, dimension, slope, offset, periodic, frequency, phase)


class KineticDrift(eqx.Module):
    """The drift of the whole state from that of the free coordinates.

    Attributes:
        free: Drift of the coordinates that are not positions.
        constraint: Which are which.

    Example:
        >>> import jax.numpy as jnp
        >>> Fixed = nke.operators.Fixed
        >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, Fixed(jnp.ones(1)), Fixed(jnp.zeros(1)))
        >>> nke.operators.KineticDrift(lambda x: -x[:1], constraint)(jnp.array([5.0, 2.0])).tolist()
        [2.0, -5.0]
    """

    free: Callable[[Float[Array, " d"]], Float[Array, " r"]]
    constraint: KinematicConstraint

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """The drift at one state."""
        return self.constraint.embed(self.constraint.velocity(x), self.free(self.constraint.seen(x)))


class KineticFactor(eqx.Module):
    """The noise factor of the whole state from that of the free coordinates: positions have no noise.

    Attributes:
        free: Factor of the coordinates that are not positions.
        constraint: Which are which.

    Example:
        >>> import jax.numpy as jnp
        >>> Fixed = nke.operators.Fixed
        >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, Fixed(jnp.ones(1)), Fixed(jnp.zeros(1)))
        >>> nke.operators.KineticFactor(lambda x: jnp.ones((1, 1)), constraint)(jnp.zeros(2)).tolist()
        [[0.0], [1.0]]
    """

    free: Callable[[Float[Array, " d"]], Float[Array, "r r"]]
    constraint: KinematicConstraint

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "d r"]:
        """The noise factor at one state."""
        g = self.free(self.constraint.seen(x))
        return self.constraint.embed(jnp.zeros((len(self.constraint.positions), g.shape[1]), g.dtype), g)


class KineticJump(eqx.Module):
    """A jump measure, rate and law, of the whole state: the positions stay where they are.

    Attributes:
        free: Jump measure of the coordinates that are not positions.
        constraint: Which are which.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> Fixed = nke.operators.Fixed
        >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, Fixed(jnp.ones(1)), Fixed(jnp.zeros(1)))
        >>> options = {"rate": 2.0, "components": 1, "width": 4, "depth": 1, "inputs": 2, "key": jax.random.key(0)}
        >>> network = nke.operators.JumpNetwork(jnp.ones(1), 0.1 * jnp.eye(1), **options)
        >>> rate, law = nke.operators.KineticJump(network, constraint)(jnp.zeros(2))
        >>> float(law.covariances[0, 0, 0])
        0.0
    """

    free: JumpNetwork
    constraint: KinematicConstraint

    def __call__(self, x: Float[Array, " d"]) -> tuple[Float[Array, ""], GaussianMixture]:
        """The rate at one state, and the law of one jump there."""
        rate, law = self.free(self.constraint.seen(x))
        embed = jnp.eye(self.constraint.dimension, dtype=x.dtype)[:, np.array(self.constraint.free)]
        return rate, GaussianMixture(law.weights, law.means @ embed.T, embed @ law.covariances @ embed.T)


class KineticMixture(eqx.Module):
    """The finite-time jump law of the whole state from that of the free coordinates: the positions stay where they are.

    Attributes:
        free: Jump law of the coordinates that are not positions.
        constraint: Which are which.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> Fixed = nke.operators.Fixed
        >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, Fixed(jnp.ones(1)), Fixed(jnp.zeros(1)))
        >>> options = {"components": 1, "width": 4, "depth": 1, "inputs": 2, "key": jax.random.key(0)}
        >>> network = nke.operators.MixtureDensityNetwork(jnp.ones(1), 0.1, **options)
        >>> law = nke.operators.KineticMixture(network, constraint)(jnp.zeros(2))
        >>> float(law.covariances[0, 0, 0])
        0.0
    """

    free: MixtureDensityNetwork
    constraint: KinematicConstraint

    def __call__(self, x: Float[Array, " d"]) -> JumpMixture:
        """The law of the displacement by jumps from one state."""
        h = self.free(self.constraint.seen(x))
        embed = jnp.eye(self.constraint.dimension, dtype=x.dtype)[:, np.array(self.constraint.free)]
        return h._replace(means=h.means @ embed.T, covariances=embed @ h.covariances @ embed.T)
