"""The learned factor g(x) of the diffusion tensor a = g gᵀ, in five forms."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nke.operators.configuration import Configuration, Registry, any_key
from nke.operators.networks.parameters import Fixed
from nke.operators.networks.polynomial import PolynomialPlusMLP
from nke.operators.networks.triangular import FLOOR, lower_factor, nearly_linear

FACTORS = Registry("diffusion factor")


@FACTORS.register
class FullFactor(eqx.Module):
    """g(x) lower triangular with positive diagonal: every positive definite a(x) = g gᵀ.

    Args:
        start: The factor to start at, everywhere.
        width: Units in each hidden layer.
        depth: Number of hidden layers.
        inputs: Number of coordinates of the state, if not that of ``start``.
        key: Random key for the network's start.

    Attributes:
        body: Polynomial and network of the entries of g.
        start: The start, which is not trained.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> factor = nke.operators.FullFactor(0.5 * jnp.eye(2), width=4, depth=1, key=jax.random.key(0))
        >>> factor(jnp.zeros(2)).shape
        (2, 2)
    """

    kind: ClassVar[str] = "full"
    body: PolynomialPlusMLP
    start: Fixed

    def __init__(
        self, start: Float[Array, "r r"], width: int, depth: int, inputs: int | None = None, *, key: PRNGKeyArray
    ):
        r = len(start)
        self.body = PolynomialPlusMLP(inputs or r, r * (r + 1) // 2, width, depth, key=key)
        self.start = Fixed(jnp.asarray(start))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        """The factor at one state."""
        return self.start.value @ lower_factor(self.body(x), len(self.start.value), nearly_linear)

    def configuration(self) -> Configuration:
        """The kind of the factor and its options, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> factor = nke.operators.FullFactor(jnp.eye(1), width=4, depth=1, key=jax.random.key(0))
            >>> factor.configuration()
            {'kind': 'full', 'width': 4, 'depth': 1}
        """
        return {"kind": self.kind, **self.body.sizes()}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "FullFactor":
        """A factor of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that have noise.

        Returns:
            The factor.

        Example:
            >>> stored = {"kind": "full", "width": 4, "depth": 1}
            >>> nke.operators.FullFactor.from_configuration(stored, inputs=1, outputs=1).configuration() == stored
            True
        """
        return cls(jnp.eye(outputs), configuration["width"], configuration["depth"], inputs, key=any_key())


@FACTORS.register
class DiagonalFactor(eqx.Module):
    """g(x) diagonal: noise sources that are independent between coordinates.

    Args:
        start: The factor to start at, everywhere; only the size of its rows is taken.
        width: Units in each hidden layer.
        depth: Number of hidden layers.
        inputs: Number of coordinates of the state, if not that of ``start``.
        key: Random key for the network's start.

    Attributes:
        body: Polynomial and network of the diagonal.
        start: The start, which is not trained.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> factor = nke.operators.DiagonalFactor(0.5 * jnp.eye(2), width=4, depth=1, key=jax.random.key(0))
        >>> float(factor(jnp.zeros(2))[0, 1])
        0.0
    """

    kind: ClassVar[str] = "diagonal"
    body: PolynomialPlusMLP
    start: Fixed

    def __init__(
        self, start: Float[Array, "r r"], width: int, depth: int, inputs: int | None = None, *, key: PRNGKeyArray
    ):
        self.body = PolynomialPlusMLP(inputs or len(start), len(start), width, depth, key=key)
        self.start = Fixed(jnp.linalg.norm(jnp.asarray(start), axis=-1))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        """The factor at one state."""
        return jnp.diag(self.start.value * (nearly_linear(self.body(x)) + FLOOR))

    def configuration(self) -> Configuration:
        """The kind of the factor and its options, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> factor = nke.operators.DiagonalFactor(jnp.eye(1), width=4, depth=1, key=jax.random.key(0))
            >>> factor.configuration()
            {'kind': 'diagonal', 'width': 4, 'depth': 1}
        """
        return {"kind": self.kind, **self.body.sizes()}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "DiagonalFactor":
        """A factor of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that have noise.

        Returns:
            The factor.

        Example:
            >>> stored = {"kind": "diagonal", "width": 4, "depth": 1}
            >>> nke.operators.DiagonalFactor.from_configuration(stored, inputs=1, outputs=1).configuration() == stored
            True
        """
        return cls(jnp.eye(outputs), configuration["width"], configuration["depth"], inputs, key=any_key())


@FACTORS.register
class ScalarFactor(eqx.Module):
    """g(x) = σ(x)·I: noise of one size in all coordinates.

    Args:
        start: The factor to start at, everywhere; only its size is taken.
        width: Units in each hidden layer.
        depth: Number of hidden layers.
        key: Random key for the network's start.

    Attributes:
        body: Polynomial and network of σ.
        start: The start, which is not trained.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> factor = nke.operators.ScalarFactor(0.5 * jnp.eye(2), width=4, depth=1, key=jax.random.key(0))
        >>> g = factor(jnp.zeros(2))
        >>> float(g[0, 0]) == float(g[1, 1])
        True
    """

    kind: ClassVar[str] = "scalar"
    body: PolynomialPlusMLP
    start: Fixed

    def __init__(self, start: Float[Array, "d d"], width: int, depth: int, *, key: PRNGKeyArray):
        self.body = PolynomialPlusMLP(len(start), 1, width, depth, key=key)
        self.start = Fixed(jnp.sqrt(jnp.mean(jnp.sum(jnp.asarray(start) ** 2, axis=-1))))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "d d"]:
        """The factor at one state."""
        return self.deviation(self.body(x)) * jnp.eye(len(x))

    def deviation(self, raw: Float[Array, " 1"]) -> Float[Array, ""]:
        """The standard deviation σ from the value of the body.

        Args:
            raw: What ``body`` gives.

        Returns:
            σ, greater than zero.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> factor = nke.operators.ScalarFactor(0.5 * jnp.eye(1), width=4, depth=1, key=jax.random.key(0))
            >>> round(float(factor.deviation(jnp.zeros(1))), 2)  # where the body is zero: the start
            0.5
        """
        return self.start.value * (nearly_linear(raw[0]) + FLOOR)

    def configuration(self) -> Configuration:
        """The kind of the factor and its options, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> factor = nke.operators.ScalarFactor(jnp.eye(1), width=4, depth=1, key=jax.random.key(0))
            >>> factor.configuration()
            {'kind': 'scalar', 'width': 4, 'depth': 1}
        """
        return {"kind": self.kind, **self.body.sizes()}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "ScalarFactor":
        """A factor of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state, all of which have noise.
            outputs: The same number.

        Returns:
            The factor.

        Example:
            >>> stored = {"kind": "scalar", "width": 4, "depth": 1}
            >>> nke.operators.ScalarFactor.from_configuration(stored, inputs=1, outputs=1).configuration() == stored
            True
        """
        return cls(jnp.eye(outputs), configuration["width"], configuration["depth"], key=any_key())


@FACTORS.register
class ConstantFactor(eqx.Module):
    """g the same full matrix everywhere: additive noise.

    Args:
        start: The factor to start at.
        width: Not used; there is no network. Taken so that all factors are made alike.
        depth: Not used.
        inputs: Not used.
        key: Not used.

    Attributes:
        raw: What is learned, zero at the start.
        start: The start, which is not trained.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> factor = nke.operators.ConstantFactor(0.5 * jnp.eye(1), key=jax.random.key(0))
        >>> bool((factor(jnp.zeros(1)) == factor(jnp.ones(1))).all())
        True
    """

    kind: ClassVar[str] = "constant"
    raw: Float[Array, " n"]
    start: Fixed

    def __init__(
        self,
        start: Float[Array, "r r"],
        width: int = 0,
        depth: int = 0,
        inputs: int | None = None,
        *,
        key: PRNGKeyArray,
    ):
        r = len(start)
        self.raw = jnp.asarray(np.zeros(r * (r + 1) // 2, np.float32))
        self.start = Fixed(jnp.asarray(start))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        """The factor at one state."""
        return self.start.value @ lower_factor(self.raw, len(self.start.value), nearly_linear)

    def configuration(self) -> Configuration:
        """The kind of the factor, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> factor = nke.operators.ConstantFactor(jnp.eye(1), key=jax.random.key(0))
            >>> factor.configuration()
            {'kind': 'constant'}
        """
        return {"kind": self.kind}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "ConstantFactor":
        """A factor of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that have noise.

        Returns:
            The factor.

        Example:
            >>> stored = {"kind": "constant"}
            >>> nke.operators.ConstantFactor.from_configuration(stored, inputs=1, outputs=1).configuration() == stored
            True
        """
        return cls(jnp.eye(outputs), key=any_key())


@FACTORS.register
class RelativeFactor(eqx.Module):
    """g(x) = diag(√(c² + x²))·h(asinh(x/c)), h lower triangular: noise in proportion to the state itself.

    Here x is the state as the user measures it.

    Args:
        start: The factor h to start at, everywhere.
        width: Units in each hidden layer.
        depth: Number of hidden layers; with 0 h is the same everywhere.
        origin: The zero of the user's state in the coordinates of training.
        size: The size c of each coordinate below which its noise no longer follows it.
        noisy: The coordinates that g gives, if not all.
        sizeless: Columns that have no size which noise could be in proportion to: cosines, sines, logarithms; 1 is
            taken.
        key: Random key for the network's start.

    Attributes:
        body: Polynomial and network of the entries of h.
        start: The start, which is not trained.
        origin: The origin, which is not trained.
        size: The size, which is not trained.
        noisy: The coordinates that g gives, or None for all.
        sizeless: Columns that have no size.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> options = {"origin": jnp.zeros(1), "size": jnp.full(1, 0.01)}
        >>> factor = nke.operators.RelativeFactor(0.2 * jnp.eye(1), 4, 1, **options, key=jax.random.key(0))
        >>> ratio = factor(jnp.full(1, 4.0)) / factor(jnp.full(1, 2.0))
        >>> round(float(ratio[0, 0]), 3)
        2.0
    """

    kind: ClassVar[str] = "relative"
    body: PolynomialPlusMLP
    start: Fixed
    origin: Fixed
    size: Fixed
    noisy: tuple[int, ...] | None = eqx.field(static=True)
    sizeless: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        start: Float[Array, "r r"],
        width: int,
        depth: int,
        origin: Float[Array, " d"],
        size: Float[Array, " d"],
        noisy: tuple[int, ...] | None = None,
        sizeless: tuple[int, ...] = (),
        *,
        key: PRNGKeyArray,
    ):
        r = len(start)
        self.body = PolynomialPlusMLP(len(origin), r * (r + 1) // 2, width, depth, degree=1 if depth else 0, key=key)
        self.start, self.origin, self.size = (Fixed(jnp.asarray(a)) for a in (start, origin, size))
        self.noisy, self.sizeless = noisy, sizeless

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        """The factor at one state."""
        state, size, start = x - self.origin.value, self.size.value, self.start.value
        inputs, amplitude = jnp.arcsinh(state / size), jnp.sqrt(size**2 + state**2)
        if self.sizeless:
            without = np.isin(np.arange(len(x)), self.sizeless)
            inputs, amplitude = jnp.where(without, x, inputs), jnp.where(without, 1.0, amplitude)
        factor = start @ lower_factor(self.body(inputs), len(start), nearly_linear)
        return (amplitude if self.noisy is None else amplitude[jnp.array(self.noisy)])[:, None] * factor

    def configuration(self) -> Configuration:
        """The kind of the factor and its options, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"origin": jnp.zeros(1), "size": jnp.ones(1), "key": jax.random.key(0)}
            >>> factor = nke.operators.RelativeFactor(jnp.eye(1), width=4, depth=1, **options)
            >>> factor.configuration()
            {'kind': 'relative', 'width': 4, 'depth': 1, 'noisy': None}
        """
        noisy = None if self.noisy is None else list(self.noisy)
        sizeless = {"angles": list(self.sizeless)} if self.sizeless else {}  # the name in files since format 5
        return {"kind": self.kind, **self.body.sizes(), "noisy": noisy, **sizeless}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "RelativeFactor":
        """A factor of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that have noise.

        Returns:
            The factor.

        Example:
            >>> stored = {"kind": "relative", "width": 4, "depth": 1, "noisy": None}
            >>> nke.operators.RelativeFactor.from_configuration(stored, inputs=1, outputs=1).configuration() == stored
            True
        """
        noisy = None if configuration["noisy"] is None else tuple(configuration["noisy"])
        sizes, sizeless = (configuration["width"], configuration["depth"]), tuple(configuration.get("angles", ()))
        return cls(jnp.eye(outputs), *sizes, jnp.zeros(inputs), jnp.ones(inputs), noisy, sizeless, key=any_key())
