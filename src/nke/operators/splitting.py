"""Compositions of the semigroups: e^{L s} from e^{A s}, e^{D s} and e^{J s}."""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.mixtures import GaussianMixture
from nke.operators.generator import Generator
from nke.operators.operator import Noise, Operator, Step
from nke.operators.quadrature import Cubature, Quadrature


class Splitting(eqx.Module):
    refined: ClassVar[bool] = True  # whether a simulation may take finer steps than the data's

    @abc.abstractmethod
    def stages(self, generator: Generator) -> list[tuple[Operator, float]]:
        """Operators in the order in which they act, each with its share of the step."""

    def semigroup(
        self,
        generator: Generator,
        mixture: GaussianMixture,
        step: Step,
        quadrature: Quadrature = Cubature(),  # noqa: B008 - immutable
    ) -> GaussianMixture:
        """A mixture carried over one step."""
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
        """Law of the state one step after x: the semigroup applied to δ_x."""
        return self.semigroup(generator, GaussianMixture.point(x), step, quadrature)

    def move(self, generator: Generator, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        """A particle carried over one step with the given random numbers."""
        for operator, share in self.stages(generator):
            x = operator.move(x, share * step, noise)
        return x


class LieTrotter(Splitting):
    """e^{J s} e^{D s} e^{A s}: drift, then noise, then jump, as Euler–Maruyama does."""

    def stages(self, generator: Generator) -> list[tuple[Operator, float]]:
        jump = [] if generator.jump is None else [(generator.jump, 1.0)]
        return [(generator.advection, 1.0), (generator.diffusion, 1.0), *jump]


class Strang(Splitting):
    """e^{A s/2} e^{J s} e^{D s} e^{A s/2}: second order without jumps."""

    def stages(self, generator: Generator) -> list[tuple[Operator, float]]:
        jump = [] if generator.jump is None else [(generator.jump, 1.0)]
        half = (generator.advection, 0.5)
        return [half, (generator.diffusion, 1.0), *jump, half]


class Euler(Splitting):
    """x + s·f(x) + √s·g(x) ξ + jump, everything frozen at x: a draw from the transition rule ``EulerMaruyamaRule``.

    A model fitted by that rule holds at the step of the data and at no finer one, so sub-steps are not refined.
    """

    refined = False

    def stages(self, generator: Generator) -> list[tuple[Operator, float]]:
        return LieTrotter().stages(generator)

    def move(self, generator: Generator, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        jumped = x if generator.jump is None else generator.jump.move(x, step, noise)
        g = generator.diffusion.factor(x)
        return jumped + step * generator.advection.drift(x) + jnp.sqrt(step) * (g @ noise.diffusion[: g.shape[-1]])
