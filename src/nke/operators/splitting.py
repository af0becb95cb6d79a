"""Compositions of the semigroups: e^{L s} from e^{A s}, e^{D s} and e^{J s}."""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.mixtures import GaussianMixture
from nke.operators.configuration import Configuration, Registry
from nke.operators.generator import Generator
from nke.operators.jump import draw
from nke.operators.operator import Noise, Operator, Step
from nke.operators.quadrature import Cubature, Quadrature

SPLITTINGS = Registry("splitting")


class Splitting(eqx.Module):
    """A composition of the semigroups of the terms of a generator.

    Attributes:
        refined: Whether a simulation may take finer steps than the data's.

    Example:
        >>> import jax.numpy as jnp
        >>> advection = nke.operators.Advection(lambda x: -x)
        >>> generator = nke.operators.Generator(advection, nke.operators.Diffusion(lambda x: jnp.eye(1)))
        >>> law = nke.operators.Strang().transition(generator, jnp.array([1.0]), 0.1)
        >>> round(float(law.means[0, 0]), 3), round(float(law.covariances[0, 0, 0]), 3)
        (0.905, 0.09)
    """

    refined: ClassVar[bool] = True
    kind: ClassVar[str]

    @abc.abstractmethod
    def stages(self, generator: Generator) -> list[tuple[Operator, float]]:
        """Operators in the order in which they act, each with its share of the step.

        Args:
            generator: The equation.

        Returns:
            Pairs of an operator and its share.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: -x), diffusion)
            >>> [(type(term).__name__, share) for term, share in nke.operators.Strang().stages(generator)]
            [('Advection', 0.5), ('Diffusion', 1.0), ('Advection', 0.5)]
        """

    def semigroup(
        self,
        generator: Generator,
        mixture: GaussianMixture,
        step: Step,
        quadrature: Quadrature = Cubature(),  # noqa: B008 - immutable
    ) -> GaussianMixture:
        """A mixture carried over one step.

        Args:
            generator: The equation.
            mixture: Law at the start.
            step: Length of the step.
            quadrature: Rule for inner products with its components.

        Returns:
            Law at the end.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: 2 + 0 * x), diffusion)
            >>> law = nke.operators.LieTrotter().semigroup(generator, nke.GaussianMixture.point(jnp.ones(1)), 0.5)
            >>> law.means.tolist(), law.covariances.tolist()  # x + f·s and a·s
            ([[2.0]], [[[0.5]]])
        """
        for operator, share in self.stages(generator):
            mixture = operator.semigroup(mixture, share * step, quadrature)
        return mixture

    def transition(
        self,
        generator: Generator,
        x: Float[Array, " d"],
        step: Step,
        quadrature: Quadrature = Cubature(),  # noqa: B008 - immutable
    ) -> GaussianMixture:
        """The law of the state one step after x: the semigroup applied to δ_x.

        Args:
            generator: The equation.
            x: State at the start.
            step: Length of the step.
            quadrature: Rule for inner products.

        Returns:
            Law at the end.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: 2 + 0 * x), diffusion)
            >>> nke.operators.LieTrotter().transition(generator, jnp.ones(1), 0.5).means.tolist()  # x + f·s
            [[2.0]]
        """
        return self.semigroup(generator, GaussianMixture.point(x), step, quadrature)

    def move(self, generator: Generator, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        """A particle carried over one step with the given random numbers.

        Args:
            generator: The equation.
            x: State at the start.
            step: Length of the step.
            noise: The random numbers.

        Returns:
            State at the end.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: 2 + 0 * x), diffusion)
            >>> noise = nke.operators.Noise(jnp.ones(1), jnp.asarray(0.5), jnp.zeros(1), jnp.zeros(0))
            >>> nke.operators.LieTrotter().move(generator, jnp.ones(1), 0.25, noise).tolist()  # x + f·s + g·√s·ξ
            [2.0]
        """
        for operator, share in self.stages(generator):
            x = operator.move(x, share * step, noise)
        return x

    def configuration(self) -> Configuration:
        """The kind of the splitting, as JSON values.

        Example:
            >>> nke.operators.Strang().configuration()
            {'kind': 'strang'}
        """
        return {"kind": self.kind}

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> "Splitting":
        """The splitting that a configuration describes.

        Args:
            configuration: What ``configuration()`` gave.

        Returns:
            The splitting.

        Example:
            >>> nke.operators.Strang.from_configuration({"kind": "strang"}).configuration()
            {'kind': 'strang'}
        """
        return cls()


@SPLITTINGS.register
class LieTrotter(Splitting):
    """e^{J s} e^{D s} e^{A s}: drift, then noise, then jump, as Euler–Maruyama does.

    Example:
        >>> nke.operators.LieTrotter().configuration()
        {'kind': 'lie-trotter'}
    """

    kind: ClassVar[str] = "lie-trotter"

    def stages(self, generator: Generator) -> list[tuple[Operator, float]]:
        """Drift, noise and jump, each for the whole step.

        Args:
            generator: The equation.

        Returns:
            Pairs of an operator and its share.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: -x), diffusion)
            >>> [share for _, share in nke.operators.LieTrotter().stages(generator)]
            [1.0, 1.0]
        """
        jump = [] if generator.jump is None else [(generator.jump, 1.0)]
        return [(generator.advection, 1.0), (generator.diffusion, 1.0), *jump]


@SPLITTINGS.register
class Strang(Splitting):
    """e^{A s/2} e^{J s} e^{D s} e^{A s/2}: second order without jumps.

    Example:
        >>> nke.operators.Strang().configuration()
        {'kind': 'strang'}
    """

    kind: ClassVar[str] = "strang"

    def stages(self, generator: Generator) -> list[tuple[Operator, float]]:
        """Half of the drift, noise and jump, the other half of the drift.

        Args:
            generator: The equation.

        Returns:
            Pairs of an operator and its share.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: -x), diffusion)
            >>> [share for _, share in nke.operators.Strang().stages(generator)]
            [0.5, 1.0, 0.5]
        """
        jump = [] if generator.jump is None else [(generator.jump, 1.0)]
        half = (generator.advection, 0.5)
        return [half, (generator.diffusion, 1.0), *jump, half]


@SPLITTINGS.register
class Euler(Splitting):
    """x + s·f(x) + √s·g(x) ξ + jump, everything frozen at x: a draw from the transition rule ``EulerMaruyamaRule``.

    A model fitted by that rule holds at the step of the data and at no finer one, so sub-steps are not refined.

    Example:
        >>> nke.operators.Euler().refined
        False
    """

    refined: ClassVar[bool] = False
    kind: ClassVar[str] = "euler"

    def stages(self, generator: Generator) -> list[tuple[Operator, float]]:
        """The stages of ``LieTrotter``, for laws; a particle is moved otherwise.

        Args:
            generator: The equation.

        Returns:
            Pairs of an operator and its share.
        """
        return LieTrotter().stages(generator)

    def move(self, generator: Generator, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        """A particle carried over one step, all coefficients taken at its start.

        Args:
            generator: The equation.
            x: State at the start.
            step: Length of the step.
            noise: The random numbers.

        Returns:
            State at the end.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: -x), diffusion)
            >>> noise = nke.operators.Noise(jnp.ones(1), jnp.asarray(0.5), jnp.zeros(1), jnp.zeros(0))
            >>> nke.operators.Euler().move(generator, jnp.ones(1), 0.25, noise).tolist()  # 1 − 0.25 + √0.25
            [1.25]
        """
        jumped = x if generator.jump is None else x + draw(generator.jump.displacement(x, step), noise)
        g = generator.diffusion.factor(x)
        return jumped + step * generator.advection.drift(x) + jnp.sqrt(step) * (g @ noise.diffusion[: g.shape[-1]])
