"""Networks of one state: drift, factor of the diffusion tensor, finite-time jump law.

All of them live in dimensionless coordinates; ``scale`` vectors carry the sizes read off the data, so
that what is learned is of order one. Heads start small: training begins at the data's own averages.
"""

from collections.abc import Callable
from functools import reduce
from itertools import combinations_with_replacement
from operator import mul
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from nke.arrays import Array as AnyArray
from nke.arrays import namespace, tril_matrix
from nke.mixtures import GaussianMixture

FLOOR = 1e-3  # smallest standard deviation, as a fraction of the data's own
BEND = 0.1  # how sharply a noise factor bends away from the straight line to stay positive


class Fixed(eqx.Module):
    """An array that belongs to a network but is not trained."""

    value: Array


def trainable(network: PyTree) -> PyTree:
    """A mask for ``eqx.partition``: True for the arrays that training may change."""
    return jax.tree.map(eqx.is_inexact_array, network, is_leaf=lambda leaf: isinstance(leaf, Fixed))


def _mlp(inputs: int, outputs: int, width: int, depth: int, key: PRNGKeyArray) -> eqx.nn.MLP:
    """SiLU network whose last layer starts at zero."""
    mlp = eqx.nn.MLP(inputs, outputs, width, depth, jax.nn.silu, key=key)
    return eqx.tree_at(lambda m: m.layers[-1], mlp, jax.tree.map(jnp.zeros_like, mlp.layers[-1]))


def _only(mlp: eqx.nn.MLP, rows: Int[np.ndarray, " n"]) -> eqx.nn.MLP:
    """The network with some of its outputs."""
    last = mlp.layers[-1]
    assert last.bias is not None
    smaller = eqx.nn.MLP(mlp.in_size, len(rows), mlp.width_size, mlp.depth, mlp.activation, key=jax.random.key(0))
    end = eqx.tree_at(lambda m: (m.weight, m.bias), smaller.layers[-1], (last.weight[rows], last.bias[rows]))
    return eqx.tree_at(lambda m: m.layers, smaller, (*mlp.layers[:-1], end))


def monomials(x: Float[AnyArray, "*batch d"], degree: int) -> Float[AnyArray, "*batch n"]:
    """All x_i, then all products x_i x_j, and so on up to the degree."""
    columns = [np.array(variables).T for variables in multiplied(x.shape[-1], degree)]
    products = [reduce(mul, (x[..., i] for i in indices)) for indices in columns]
    return namespace(x).concatenate([x[..., :0], *products], axis=-1)


def monomial_degrees(inputs: int, degree: int) -> Int[np.ndarray, " n"]:
    """Of each of ``monomials``."""
    return np.array([len(variables) for same in multiplied(inputs, degree) for variables in same], int)


def multiplied(inputs: int, degree: int) -> list[list[tuple[int, ...]]]:
    """For each degree the variables that are multiplied."""
    return [list(combinations_with_replacement(range(inputs), k)) for k in range(1, degree + 1)]


class PolynomialPlusMLP(eqx.Module):
    """A·monomials(x) + b + network(x): a polynomial costs the network nothing and goes on beyond the data.

    Without layers (``depth`` 0) there is no network: the polynomial alone.
    """

    mlp: eqx.nn.MLP | None
    skip: eqx.nn.Linear
    degree: int = eqx.field(static=True)

    def __init__(self, inputs: int, outputs: int, width: int, depth: int, degree: int = 1, *, key: PRNGKeyArray):
        self.mlp = _mlp(inputs, outputs, width, depth, key) if depth else None
        terms = len(monomial_degrees(inputs, degree))
        self.skip = jax.tree.map(jnp.zeros_like, eqx.nn.Linear(terms, outputs, key=key))
        self.degree = degree

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " n"]:
        polynomial = self.skip(monomials(x, self.degree))
        return polynomial if self.mlp is None else polynomial + self.mlp(x)


def _positive(raw: Array) -> Array:
    """Softplus, shifted so that 0 maps to 1."""
    return jax.nn.softplus(raw + np.log(np.expm1(1.0)))


def _nearly_linear(raw: Array) -> Array:
    """(u + √(u² + b))/2, shifted so that 0 maps to 1: positive, and close to 1 + raw where it can be.

    Noise in proportion to the state is then almost within reach of a linear skip.
    """
    u = raw + 1 - BEND / 4
    return (u + jnp.sqrt(u**2 + BEND)) / 2


def _factor(raw: Float[Array, " n"], d: int, positive: Callable[[Array], Array] = _positive) -> Float[Array, "d d"]:
    """Lower-triangular factor with positive diagonal; raw = 0 is the identity."""
    lower = tril_matrix(raw, d)
    diagonal = jnp.diagonal(lower)
    return lower - jnp.diag(diagonal) + jnp.diag(positive(diagonal) + FLOOR)


class DriftNetwork(eqx.Module):
    """f(x) = scale · (polynomial(x) + network(x)), the polynomial of degree 1, 2 or 3.

    Like the networks below it may give fewer coordinates than the ``inputs`` of the state (see ``kinetic``).
    """

    body: PolynomialPlusMLP
    scale: Fixed

    def __init__(
        self,
        scale: Float[Array, " r"],
        width: int,
        depth: int,
        degree: int = 1,
        inputs: int | None = None,
        *,
        key: PRNGKeyArray,
    ):
        self.body = PolynomialPlusMLP(inputs or len(scale), len(scale), width, depth, degree, key=key)
        self.scale = Fixed(jnp.asarray(scale))

    def starting_from(self, constant: Float[Array, " r"], slopes: Float[Array, "r n"]) -> "DriftNetwork":
        """With the polynomial b + A·monomials(x) as its start."""
        scale = self.scale.value
        return eqx.tree_at(
            lambda drift: (drift.body.skip.weight, drift.body.skip.bias),
            self,
            (jnp.asarray(slopes, scale.dtype) / scale[:, None], jnp.asarray(constant, scale.dtype) / scale),
        )

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " r"]:
        return self.scale.value * self.body(x)


class FullFactor(eqx.Module):
    """g(x) lower triangular with positive diagonal: every positive definite a(x) = g gᵀ."""

    body: PolynomialPlusMLP
    start: Fixed

    def __init__(
        self, start: Float[Array, "r r"], width: int, depth: int, inputs: int | None = None, *, key: PRNGKeyArray
    ):
        r = len(start)
        self.body = PolynomialPlusMLP(inputs or r, r * (r + 1) // 2, width, depth, key=key)
        self.start = Fixed(jnp.asarray(start))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        return self.start.value @ _factor(self.body(x), len(self.start.value), _nearly_linear)


class DiagonalFactor(eqx.Module):
    """g(x) diagonal: noise sources that are independent between coordinates."""

    body: PolynomialPlusMLP
    start: Fixed

    def __init__(
        self, start: Float[Array, "r r"], width: int, depth: int, inputs: int | None = None, *, key: PRNGKeyArray
    ):
        self.body = PolynomialPlusMLP(inputs or len(start), len(start), width, depth, key=key)
        self.start = Fixed(jnp.linalg.norm(jnp.asarray(start), axis=-1))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        return jnp.diag(self.start.value * (_nearly_linear(self.body(x)) + FLOOR))


class ScalarFactor(eqx.Module):
    """g(x) = σ(x)·I: noise of one size in all coordinates."""

    body: PolynomialPlusMLP
    start: Fixed

    def __init__(self, start: Float[Array, "d d"], width: int, depth: int, *, key: PRNGKeyArray):
        self.body = PolynomialPlusMLP(len(start), 1, width, depth, key=key)
        self.start = Fixed(jnp.sqrt(jnp.mean(jnp.sum(jnp.asarray(start) ** 2, axis=-1))))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "d d"]:
        return self.deviation(self.body(x)) * jnp.eye(len(x))

    def deviation(self, raw: Float[Array, " 1"]) -> Float[Array, ""]:
        """σ from what the network says."""
        return self.start.value * (_nearly_linear(raw[0]) + FLOOR)


class ConstantFactor(eqx.Module):
    """g the same full matrix everywhere: additive noise."""

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
        self.raw = jnp.zeros(r * (r + 1) // 2)
        self.start = Fixed(jnp.asarray(start))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        return self.start.value @ _factor(self.raw, len(self.start.value), _nearly_linear)


class RelativeFactor(eqx.Module):
    """g(x) = diag(√(c² + x²))·h(asinh(x/c)), h lower triangular: noise in proportion to the state itself.

    x is the state as the user measures it: ``origin`` is its zero in the coordinates of training, c = ``size``;
    ``noisy`` are the coordinates that g gives, if not all. With ``depth`` 0 h is the same everywhere.
    """

    body: PolynomialPlusMLP
    start: Fixed
    origin: Fixed
    size: Fixed
    noisy: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(
        self,
        start: Float[Array, "r r"],
        width: int,
        depth: int,
        origin: Float[Array, " d"],
        size: Float[Array, " d"],
        noisy: tuple[int, ...] | None = None,
        *,
        key: PRNGKeyArray,
    ):
        r = len(start)
        self.body = PolynomialPlusMLP(len(origin), r * (r + 1) // 2, width, depth, degree=1 if depth else 0, key=key)
        self.start, self.origin, self.size = (Fixed(jnp.asarray(a)) for a in (start, origin, size))
        self.noisy = noisy

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        state, size, start = x - self.origin.value, self.size.value, self.start.value
        factor = start @ _factor(self.body(jnp.arcsinh(state / size)), len(start), _nearly_linear)
        amplitude = jnp.sqrt(size**2 + state**2)
        return (amplitude if self.noisy is None else amplitude[jnp.array(self.noisy)])[:, None] * factor


class JumpMixture(NamedTuple):
    """H^s at one state: log weight of δ₀, then shares, means and covariances of the jumps."""

    log_no_jump: Float[Array, ""]
    shares: Float[Array, " k"]
    means: Float[Array, "k d"]
    covariances: Float[Array, "k d d"]


class MixtureDensityNetwork(eqx.Module):
    """H^s(x) = α₀(x) δ₀ + Σ_k α_k(x) G_{β_k(x), γ_k(x)} with γ_k bounded from below."""

    mlp: eqx.nn.MLP
    scale: Fixed
    components: int = eqx.field(static=True)

    def __init__(
        self,
        scale: Float[Array, " d"],
        probability: float,
        components: int,
        width: int,
        depth: int,
        *,
        key: PRNGKeyArray,
    ):
        """Starts with the given jump probability and means spread over ±1 scale."""
        d = len(scale)
        per_component = 1 + d + d * (d + 1) // 2
        start_key, key = jax.random.split(key)
        mlp = _mlp(d, 1 + components * per_component, width, depth, key)
        table = np.zeros((components, per_component), np.float32)
        if components > 1:
            table[:, 1 : 1 + d] = np.asarray(jax.random.normal(start_key, (components, d)))
        bias = np.concatenate([[np.log(probability / (1 - probability))], table.ravel()]).astype(np.float32)
        self.mlp = eqx.tree_at(lambda m: m.layers[-1].bias, mlp, jnp.asarray(bias))
        self.scale = Fixed(jnp.asarray(scale))
        self.components = components

    def __call__(self, x: Float[Array, " d"]) -> JumpMixture:
        d = len(x)
        scale = self.scale.value
        raw = self.mlp(x)
        table = raw[1:].reshape(self.components, -1)
        factors = scale[:, None] * jax.vmap(lambda row: _factor(row, d))(table[:, 1 + d :])
        return JumpMixture(
            log_no_jump=-jax.nn.softplus(raw[0]),
            shares=jax.nn.softmax(table[:, 0]),
            means=scale * table[:, 1 : 1 + d],
            covariances=factors @ jnp.swapaxes(factors, -1, -2),
        )

    def prune(self, keep: list[int]) -> "MixtureDensityNetwork":
        """Only the components in ``keep``; the softmax shares out what the others had."""
        bias = self.mlp.layers[-1].bias
        assert bias is not None
        rows = np.arange(1, len(bias)).reshape(self.components, -1)[keep]
        smaller = MixtureDensityNetwork(
            self.scale.value, 0.5, len(keep), self.mlp.width_size, self.mlp.depth, key=jax.random.key(0)
        )
        return eqx.tree_at(lambda m: m.mlp, smaller, _only(self.mlp, np.concatenate([[0], rows.ravel()])))


class JumpNetwork(eqx.Module):
    """Jump measure: rate λ(x) and shares of the components depend on the state, their shapes too if so asked.

    With ``depth`` 0 all of them are the same everywhere.

    A component's root mean square size, in units of the noise of one step, is at least one: below that a
    jump cannot be told from diffusion.
    """

    mlp: eqx.nn.MLP  # to the rate, the shares and, if state_dependent_shapes, what is added to means and factors
    means: Float[Array, "k d"]
    factors: Float[Array, "k n"]
    scale: Fixed
    rate: Fixed
    whiten: Fixed
    state_dependent_shapes: bool = eqx.field(static=True)

    def __init__(
        self,
        scale: Float[Array, " r"],
        noise: Float[Array, "r r"],
        rate: float,
        components: int,
        width: int,
        depth: int,
        state_dependent_shapes: bool = False,
        inputs: int | None = None,
        *,
        key: PRNGKeyArray,
    ):
        """Starts at the given rate, components centred within the given scale; ``noise`` is that of one step."""
        d = len(scale)
        mean_key, key = jax.random.split(key)
        entries = d * (d + 1) // 2
        seen = (inputs or d) if depth else 0
        self.mlp = _mlp(seen, 1 + components * (1 + state_dependent_shapes * (d + entries)), width, depth, key)
        spread = 0.0 if components == 1 else 1.0
        self.means = spread * jax.random.normal(mean_key, (components, d))
        self.factors = jnp.zeros((components, entries))
        self.scale = Fixed(jnp.asarray(scale))
        self.rate = Fixed(jnp.asarray(rate, jnp.float32))
        self.whiten = Fixed(jnp.linalg.inv(noise))
        self.state_dependent_shapes = state_dependent_shapes

    @property
    def components(self) -> int:
        return self.means.shape[0]

    def starting_from(self, law: GaussianMixture) -> "JumpNetwork":
        """With the weights and shapes of a law as its start."""
        scale = np.asarray(self.scale.value)
        lower = np.linalg.cholesky(np.asarray(law.covariances)) / scale[:, None]
        i, j = np.tril_indices(len(scale))
        wanted = np.maximum(lower[:, i, j] - np.where(i == j, FLOOR, 0.0), np.where(i == j, FLOOR, -np.inf))
        raw = np.where(i == j, np.log(np.expm1(np.where(i == j, wanted, 1.0))) - np.log(np.expm1(1.0)), wanted)
        assert self.mlp.layers[-1].bias is not None
        bias = np.zeros(len(self.mlp.layers[-1].bias))
        bias[1 : 1 + self.components] = np.log(np.asarray(law.weights))
        return eqx.tree_at(
            lambda network: (network.means, network.factors, network.mlp.layers[-1].bias),
            self,
            tuple(jnp.asarray(a, jnp.float32) for a in (np.asarray(law.means) / scale, raw, bias)),
        )

    def prune(self, keep: list[int]) -> "JumpNetwork":
        """Only the components in ``keep``; the softmax shares out what the others had."""
        assert self.mlp.layers[-1].bias is not None
        shares, shapes = np.split(np.arange(1, len(self.mlp.layers[-1].bias)), [self.components])
        rows = [np.array([0]), shares[keep], shapes.reshape(self.components, -1)[keep].ravel()]
        return eqx.tree_at(
            lambda network: (network.mlp, network.means, network.factors),
            self,
            (_only(self.mlp, np.concatenate(rows)), self.means[np.array(keep)], self.factors[np.array(keep)]),
        )

    def __call__(self, x: Float[Array, " d"]) -> tuple[Float[Array, ""], GaussianMixture]:
        raw = self._raw(x)
        means, factors = self._shapes(raw)
        shares = jax.nn.softmax(raw[1 : 1 + self.components])
        return self.rate.value * _positive(raw[0]), GaussianMixture(
            shares, means, factors @ jnp.swapaxes(factors, -1, -2)
        )

    def size_over_noise(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """Root mean square size of each component at x over the noise of a step."""
        return self._size(*self._shapes(self._raw(x)))

    def _raw(self, x: Float[Array, " d"]) -> Float[Array, " o"]:
        return self.mlp(x[: self.mlp.in_size])

    def _shapes(self, raw: Float[Array, " o"]) -> tuple[Float[Array, "k d"], Float[Array, "k d d"]]:
        """Means and lower factors of the components, none smaller than the noise of a step."""
        scale, d = self.scale.value, self.means.shape[1]
        means, entries = self.means, self.factors
        if self.state_dependent_shapes:
            shift = raw[1 + self.components :].reshape(self.components, -1)
            means, entries = means + shift[:, :d], entries + shift[:, d:]
        means, factors = scale * means, scale[:, None] * jax.vmap(lambda row: _factor(row, d))(entries)
        grow = jnp.maximum(1.0, 1 / self._size(means, factors))
        return grow[:, None] * means, grow[:, None, None] * factors

    def _size(self, means: Float[Array, "k d"], factors: Float[Array, "k d d"]) -> Float[Array, " k"]:
        white = self.whiten.value @ jnp.concatenate([means[:, :, None], factors], axis=-1)
        return jnp.sqrt(jnp.sum(white**2, axis=(-2, -1)))
