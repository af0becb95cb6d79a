"""A small model of every kind of part, with different numbers in every array."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from nke import transforms
from nke.data import Coordinates
from nke.model import Model
from nke.operators import (
    Advection,
    ConstantFactor,
    Curve,
    DiagonalFactor,
    Diffusion,
    DriftNetwork,
    Euler,
    EulerMaruyamaRule,
    FiniteTimeJump,
    Fixed,
    ForwardPacket,
    FullFactor,
    GaussHermite,
    Generator,
    JumpNetwork,
    KinematicConstraint,
    MixtureDensityNetwork,
    PoissonJump,
    RelativeFactor,
    ScalarFactor,
    SeenStates,
    SmoothBasis,
    SmoothDrift,
    SmoothFactor,
    SmoothFunction,
)

KEY = jax.random.key(1)
SCALE, START = jnp.array([1.0, 2.0]), jnp.array([[0.5, 0.0], [0.1, 0.5]])
SEEN = SeenStates.of(np.random.default_rng(0).normal(size=(20, 2)), most=5)


def shaken(network, seed: int = 0):
    """The network with random numbers added to what is learned."""
    rng = np.random.default_rng(seed)
    move = lambda leaf: jnp.asarray(leaf + 0.1 * rng.normal(size=leaf.shape), leaf.dtype)  # noqa: E731
    return jax.tree.map(
        lambda leaf: move(leaf) if eqx.is_inexact_array(leaf) else leaf,
        network,
        is_leaf=lambda leaf: isinstance(leaf, Fixed),
    )


def model(generator: Generator, d: int = 2, **options) -> Model:
    columns = options.pop("transforms", None)
    names = tuple("xyz"[:d])
    coordinates = Coordinates(np.arange(d) / 3, 1 + np.arange(d), 0.5, columns)
    return Model(generator, coordinates, 0.1, names, ("",) * d, **options)


def networks() -> Model:
    drift = DriftNetwork(SCALE, 4, 2, degree=2, seen=SEEN, key=KEY)
    jump = PoissonJump(JumpNetwork(SCALE, START, 1.0, 2, 4, 1, True, key=KEY), order=3)
    generator = Generator(
        Advection(shaken(drift), 2), Diffusion(shaken(FullFactor(START, 4, 1, key=KEY))), shaken(jump)
    )
    return model(generator, borders=((0.0, np.inf), (-np.inf, np.inf)))


def polynomial() -> Model:
    drift = DriftNetwork(SCALE, 4, 0, degree=3, key=KEY)
    jump = PoissonJump(JumpNetwork(SCALE, START, 1.0, 1, 4, 0, key=KEY))
    generator = Generator(Advection(shaken(drift)), Diffusion(shaken(ConstantFactor(START, key=KEY))), shaken(jump))
    rule = ForwardPacket(GaussHermite(3), 2, (0.1, 0.2))
    columns = [transforms.Log(), transforms.Logit(0.0, 1.0)]
    return model(generator, rule=rule, transforms=columns, unit_of_time="h")


def finite_time() -> Model:
    jump = FiniteTimeJump(MixtureDensityNetwork(SCALE, 0.1, 2, 4, 1, key=KEY), 0.3)
    drift = DriftNetwork(SCALE, 4, 1, key=KEY)
    generator = Generator(Advection(shaken(drift)), Diffusion(shaken(ScalarFactor(START, 4, 1, key=KEY))), shaken(jump))
    return model(generator, rule=EulerMaruyamaRule(), splitting=Euler())


def relative(depth: int = 1) -> Model:
    factor = RelativeFactor(START, 4 * depth, depth, jnp.array([0.1, 0.2]), jnp.ones(2), sizeless=(1,), key=KEY)
    return model(Generator(Advection(shaken(DriftNetwork(SCALE, 4, 1, key=KEY))), Diffusion(shaken(factor))))


def diagonal() -> Model:
    drift, factor = DriftNetwork(SCALE, 4, 1, key=KEY), DiagonalFactor(START, 4, 1, key=KEY)
    return model(Generator(Advection(shaken(drift)), Diffusion(shaken(factor))))


def smooth() -> Model:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 2))
    curves = [Curve(0, False, 0.1, 2.0, 0.01), Curve(1, True, 0.0, -1.5, 3.0)]
    basis = SmoothBasis(2, centres, np.ones((5, 2)), [rng.normal(size=(3, 2)), rng.normal(size=(2, 2))], curves=curves)
    used = rng.random((2, basis.size)) < 0.6
    drift = SmoothFunction(basis, rng.normal(size=used.shape), used, ((-1.0, 1.0), (-2.0, 2.0)))
    factor = SmoothFunction(basis, rng.normal(size=(3, basis.size)))
    jump = JumpNetwork(SCALE, START, 1.0, 2, 4, 0, True, key=KEY).with_basis(basis)
    return model(
        Generator(Advection(SmoothDrift(drift, SCALE, SEEN)), Diffusion(SmoothFactor(factor, START)), PoissonJump(jump))
    )


def angle_and_position() -> Model:
    """Three coordinates: a position, its velocity, and an angle."""
    one = Fixed(jnp.ones(1))
    constraint = KinematicConstraint((0,), (1,), (0,), 3, one, one, (2,), one, one)
    sizes = {"inputs": 4, "key": KEY}
    generator = Generator.of_free(
        Advection(shaken(DriftNetwork(SCALE, 4, 1, degree=3, pairs=((2, 3),), **sizes))),
        Diffusion(shaken(FullFactor(START, 4, 1, **sizes))),
        PoissonJump(shaken(JumpNetwork(SCALE, START, 1.0, 2, 4, 1, **sizes))),
        constraint,
    )
    columns = [transforms.Plain(), transforms.Plain(), transforms.Periodic(360.0, 0.0)]
    return model(generator, 3, transforms=columns, rule=ForwardPacket(resolution=(0.1, 0.2)))


EXAMPLES: dict[str, Callable[[], Model]] = {
    "networks": networks,
    "polynomial": polynomial,
    "finite time": finite_time,
    "relative": relative,
    "relative, constant": lambda: relative(0),
    "diagonal": diagonal,
    "smooth": smooth,
    "angle and position": angle_and_position,
}
