"""A law with networks that starts at a polynomial law: the same functions, with hidden units of weight zero beside."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from nke.operators import (
    ConstantFactor,
    DiagonalFactor,
    DriftNetwork,
    FullFactor,
    Generator,
    JumpNetwork,
    RelativeFactor,
)


def starting_from(begin: Generator, known: Generator) -> Generator:
    """Gives drift, noise and jumps of a law with networks the values of a polynomial law.

    Noise of another form than that of the polynomial law, which networks cannot take over, stays as it is.

    Args:
        begin: A law with networks whose last layers are zero.
        known: A polynomial law, its drift of the same degree.

    Returns:
        A law of the structure of ``begin``.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from nke.fitting.known_start import starting_from
        >>> from nke.operators import Advection, ConstantFactor, Diffusion, DriftNetwork, Generator
        >>> noise = Diffusion(ConstantFactor(jnp.eye(1), key=jax.random.key(0)))
        >>> drift = DriftNetwork(jnp.ones(1), width=0, depth=0, degree=2, key=jax.random.key(0))
        >>> known = Generator(Advection(drift.starting_from(jnp.ones(1), jnp.array([[0.0, -1.0]]))), noise)
        >>> network = DriftNetwork(jnp.ones(1), width=4, depth=1, degree=2, key=jax.random.key(0))
        >>> begin = starting_from(Generator(Advection(network), noise), known)  # 1 − x², four hidden units beside
        >>> float(begin.advection.drift(jnp.array([2.0]))[0]), begin.advection.drift.body.sizes()["width"]
        (-3.0, 4)
    """
    parts = [
        _drift(begin.drift_network, known.drift_network),
        _noise(begin.noise_factor, known.noise_factor),
    ]
    begin = eqx.tree_at(lambda g: [g.drift_network, g.noise_factor], begin, parts)
    if begin.jump is None or known.jump is None:
        return begin
    return eqx.tree_at(lambda g: g.jump_network, begin, _jump(begin.jump_network, known.jump_network))


def _drift(begin: Any, known: Any) -> DriftNetwork:
    """The polynomial of the known drift beside the hidden units."""
    polynomial = lambda drift: (drift.scale, drift.body.skip)  # noqa: E731
    return eqx.tree_at(polynomial, begin, polynomial(known))


def _noise(begin: Any, known: Any) -> Any:
    if isinstance(begin, ConstantFactor) and isinstance(known, ConstantFactor):
        return known
    if isinstance(begin, FullFactor | DiagonalFactor) and isinstance(known, ConstantFactor):
        matrix = known(jnp.zeros(begin.body.skip.in_features))
        start = matrix if isinstance(begin, FullFactor) else jnp.linalg.norm(matrix, axis=-1)
        return eqx.tree_at(lambda factor: factor.start.value, begin, start)
    if isinstance(begin, RelativeFactor) and isinstance(known, RelativeFactor):
        fixed = lambda factor: (factor.start, factor.origin, factor.size)  # noqa: E731
        return eqx.tree_at(lambda f: (*fixed(f), f.body.skip.bias), begin, (*fixed(known), known.body.skip.bias))
    return begin


def _jump(begin: JumpNetwork, known: JumpNetwork) -> JumpNetwork:
    """Rate, shares and shapes of the known jumps, the same in every state."""
    if begin.components != known.components:
        return begin
    last = lambda jump: jump.mlp.layers[-1].bias  # noqa: E731
    constants = np.zeros(len(last(begin)), np.float32)
    constants[: 1 + begin.components] = last(known)[: 1 + begin.components]
    shared = lambda jump: (jump.means, jump.factors, jump.scale, jump.rate, jump.whiten)  # noqa: E731
    return eqx.tree_at(lambda j: (*shared(j), last(j)), begin, (*shared(known), jnp.asarray(constants)))
