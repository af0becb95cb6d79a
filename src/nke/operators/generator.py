"""The Kolmogorov forward generator L = A + D + J, and what is known of it beforehand."""

from collections.abc import Callable
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.arrays import Array as AnyArray
from nke.mixtures import GaussianMixture
from nke.operators.advection import Advection
from nke.operators.configuration import Configuration
from nke.operators.diffusion import Diffusion
from nke.operators.jump import JUMPS, FiniteTimeJump, Jump, PoissonJump
from nke.operators.kinetic import KinematicConstraint, KineticDrift, KineticFactor
from nke.operators.networks.diffusion_factors import FACTORS
from nke.operators.networks.drift import DRIFTS
from nke.operators.operator import PacketRate, Step
from nke.operators.quadrature import Quadrature


class Generator(eqx.Module):
    """The sum of advection, diffusion and jumps.

    With a kinematic constraint some coordinates are positions of others, and nothing but their velocities moves them:
    the other coordinates are *free*, and the law of these alone is learned. Without one all coordinates are free. Code
    that asks the generator (``free``, ``visible``, ``free_part``, ``free_equation``, ``whole_displacement``, and the
    functions that are learned) needs no cases.

    Attributes:
        advection: The drift term.
        diffusion: The noise term.
        jump: The jump term, or None.
        constraint: Positions that follow their velocities, or None. The terms must have it too: see ``of_free``.

    Example:
        >>> import jax.numpy as jnp
        >>> advection = nke.operators.Advection(lambda x: -x)
        >>> diffusion = nke.operators.Diffusion(lambda x: 0.5 * jnp.eye(1))
        >>> generator = nke.operators.Generator(advection, diffusion)
        >>> rate = generator.rate(jnp.array([2.0]), jnp.array([[0.1]]), nke.operators.Cubature())
        >>> round(float(rate.mean[0]), 3), round(float(rate.covariance[0, 0]), 3)
        (-2.0, 0.05)
    """

    advection: Advection
    diffusion: Diffusion
    jump: Jump | None = None
    constraint: KinematicConstraint | None = None

    @classmethod
    def of_free(
        cls,
        advection: Advection,
        diffusion: Diffusion,
        jump: Jump | None = None,
        constraint: KinematicConstraint | None = None,
    ) -> "Generator":
        """The equation of the whole state from that of the free coordinates.

        Args:
            advection: Drift of the free coordinates, as a function of the whole state.
            diffusion: Noise of the free coordinates, likewise.
            jump: Jumps of the free coordinates, likewise, or None.
            constraint: What the others do; None if all coordinates are free.

        Returns:
            The generator.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> advection = nke.operators.Advection(lambda x: -x[1:])
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator.of_free(advection, diffusion, None, constraint)
            >>> generator.advection.drift(jnp.array([5.0, 2.0])).tolist()
            [2.0, -2.0]
        """
        if constraint is None:
            return cls(advection, diffusion, jump)
        return cls(
            Advection(KineticDrift(advection.drift, constraint), advection.flow_steps),
            Diffusion(KineticFactor(diffusion.factor, constraint)),
            None if jump is None else jump.constrained(constraint),
            constraint,
        )

    @property
    def drift_network(self) -> Callable[[Float[Array, " d"]], Float[Array, " r"]]:
        """The drift of the free coordinates, as a function of the visible state.

        Example:
            >>> model.generator.drift_network.configuration()["degree"]
            1
        """
        drift = self.advection.drift
        return drift.free if isinstance(drift, KineticDrift) else drift

    @property
    def noise_factor(self) -> Callable[[Float[Array, " d"]], Float[Array, "r r"]]:
        """The factor of the diffusion tensor of the free coordinates, as a function of the visible state.

        Example:
            >>> model.generator.noise_factor.configuration()
            {'kind': 'constant'}
        """
        factor = self.diffusion.factor
        return factor.free if isinstance(factor, KineticFactor) else factor

    @property
    def jump_network(self) -> Any:
        """The network of the jumps of the free coordinates, as a function of the visible state; None without jumps.

        Example:
            >>> model.generator.jump_network is None  # a law without jumps
            True
        """
        if isinstance(self.jump, FiniteTimeJump):
            return self.jump.learned
        return None if self.jump is None else cast(PoissonJump, self.jump).network

    def free(self, dimension: int) -> tuple[int, ...]:
        """The coordinates whose law is learned.

        Args:
            dimension: Number of coordinates of the state.

        Returns:
            All of them, or those that are not positions of others.

        Example:
            >>> model.generator.free(dimension=1)
            (0,)
        """
        return tuple(range(dimension)) if self.constraint is None else self.constraint.free

    def inputs(self, dimension: int) -> int:
        """Number of columns of the state as the learned functions see it.

        Args:
            dimension: Number of coordinates of the state.

        Returns:
            The same number, and one more for each angle.

        Example:
            >>> model.generator.inputs(dimension=1)
            1
        """
        return dimension if self.constraint is None else self.constraint.inputs

    def visible(self, x: Float[AnyArray, "*batch d"]) -> Float[AnyArray, "*batch n"]:
        """The states as the learned functions see them.

        Args:
            x: States, NumPy or JAX.

        Returns:
            The states with zeros for the coordinates that the law does not depend on; an angle is replaced by its
            cosine, and the sines of all angles follow behind.

        Example:
            >>> model.generator.visible(np.ones((1, 1))).tolist()  # no coordinate is left out
            [[1.0]]
        """
        return x if self.constraint is None else self.constraint.seen(x)

    def free_part(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch r"]:
        """The free coordinates of states or displacements.

        Args:
            x: States or displacements.

        Returns:
            The free coordinates of each.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> advection = nke.operators.Advection(lambda x: -x[1:])
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator.of_free(advection, diffusion, None, constraint)
            >>> generator.free_part(jnp.array([5.0, 2.0])).tolist()
            [2.0]
        """
        return x if self.constraint is None else x[..., jnp.array(self.constraint.free)]

    def free_equation(self, x: Float[Array, " d"], step: Step) -> tuple["Generator", Float[Array, " r"]]:
        """The equation of the free coordinates alone over one step, and their state at its start.

        Positions are held where they are halfway through, which is right to second order in the step.

        Args:
            x: State at the start of the step.
            step: Length of the step.

        Returns:
            A generator without a constraint, and the free part of x.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> advection = nke.operators.Advection(lambda x: -x[1:])
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator.of_free(advection, diffusion, None, constraint)
            >>> equation, start = generator.free_equation(jnp.array([5.0, 2.0]), 0.1)
            >>> start.tolist(), equation.advection.drift(start).tolist()
            ([2.0], [-2.0])
        """
        if self.constraint is None:
            return self, x
        return self.without_positions(self.constraint.halfway(x, step)), self.free_part(x)

    def whole_displacement(self, law: GaussianMixture, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """The law of the displacement of the whole state from that of its free part.

        Args:
            law: Displacement of the free coordinates over the step.
            x: State at the start of the step.
            step: Length of the step.

        Returns:
            Displacement of all coordinates; singular where there are positions.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> advection = nke.operators.Advection(lambda x: -x[1:])
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator.of_free(advection, diffusion, None, constraint)
            >>> still = nke.GaussianMixture.point(jnp.zeros(1))  # the velocity stays as it is
            >>> generator.whole_displacement(still, jnp.array([5.0, 2.0]), 0.5).means.tolist()
            [[1.0, 0.0]]
        """
        return law if self.constraint is None else self.constraint.carry(law, x, step)

    def without_positions(self, positions: Float[Array, " p"]) -> "Generator":
        """The equation of the free coordinates, the positions held where they are.

        Args:
            positions: A number for each position.

        Returns:
            A generator without a constraint.

        Example:
            >>> import jax.numpy as jnp
            >>> one, zero = nke.operators.Fixed(jnp.ones(1)), nke.operators.Fixed(jnp.zeros(1))
            >>> constraint = nke.operators.KinematicConstraint((0,), (1,), (), 2, one, zero)  # x' = v
            >>> advection = nke.operators.Advection(lambda x: -x[1:])
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator.of_free(advection, diffusion, None, constraint)
            >>> generator.without_positions(jnp.array([5.0])).advection.drift(jnp.array([2.0])).tolist()
            [-2.0]
        """
        constraint = self.constraint
        assert constraint is not None

        def state(q: Float[Array, " r"]) -> Float[Array, " d"]:
            return constraint.seen(constraint.embed(positions, q))

        drift, factor, jump = self.drift_network, self.noise_factor, self.jump
        return Generator(
            Advection(lambda q: drift(state(q))),
            Diffusion(lambda q: factor(state(q))),
            None if jump is None else jump.unconstrained(state),
        )

    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """The projected generator of the whole equation: the sum of those of its terms.

        Args:
            mean: Mean μ of the packet.
            covariance: Covariance Σ of the packet.
            quadrature: Rule for inner products with the packet.

        Returns:
            Time derivatives of weight, mean and covariance.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: -2 * x), diffusion)
            >>> generator.rate(jnp.ones(1), jnp.eye(1), nke.operators.Cubature()).covariance.tolist()  # −4Σ + a
            [[-3.0]]
        """
        terms = [self.advection, self.diffusion] + ([] if self.jump is None else [self.jump])
        rates = [term.rate(mean, covariance, quadrature) for term in terms]
        return jax.tree.map(lambda *parts: jnp.sum(jnp.stack(parts), axis=0), *rates)

    def configuration(self) -> Configuration:
        """The structure of the generator, as JSON values.

        Returns:
            The configurations of its learned functions and of its constraint.

        Raises:
            InputTypeError: If a coefficient is no network of nke, such as a plain function.

        Example:
            >>> sorted(model.generator.configuration())
            ['constraint', 'diffusion', 'drift', 'flow_steps', 'jump']
        """
        return {
            "drift": DRIFTS.describe(self.drift_network),
            "flow_steps": self.advection.flow_steps,
            "diffusion": FACTORS.describe(self.noise_factor),
            "jump": None if self.jump is None else JUMPS.describe(self.jump),
            "constraint": None if self.constraint is None else self.constraint.configuration(),
        }

    @classmethod
    def from_configuration(cls, configuration: Configuration, dimension: int) -> "Generator":
        """A generator of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            dimension: Number of coordinates of the state.

        Returns:
            The generator.

        Raises:
            InputError: If a part is of a kind that is not known.

        Example:
            >>> stored = model.generator.configuration()
            >>> nke.operators.Generator.from_configuration(stored, dimension=1).configuration() == stored
            True
        """
        jump, constraint = configuration["jump"], configuration["constraint"]
        if constraint is not None:
            constraint = KinematicConstraint.from_configuration(constraint, dimension)
        sizes = (dimension, dimension) if constraint is None else (constraint.inputs, len(constraint.free))
        return cls.of_free(
            Advection(DRIFTS.build(configuration["drift"], *sizes), configuration["flow_steps"]),
            Diffusion(FACTORS.build(configuration["diffusion"], *sizes)),
            None if jump is None else JUMPS.build(jump, *sizes),
            constraint,
        )
