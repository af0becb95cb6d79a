"""Polynomials of the state, alone or with a network added."""

from functools import reduce
from itertools import combinations_with_replacement
from operator import mul

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nke.arrays import Array as AnyArray
from nke.arrays import namespace
from nke.operators.networks.mlp import sizes, zero_headed_mlp, zero_linear

Pairs = tuple[tuple[int, int], ...]


def monomials(x: Float[AnyArray, "*batch d"], degree: int, pairs: Pairs = ()) -> Float[AnyArray, "*batch n"]:
    """All x_i, then all products x_i x_j, and so on up to a degree; without the constant.

    Args:
        x: States, NumPy or JAX.
        degree: Largest number of factors.
        pairs: Columns that are cosine and sine of one angle, see ``monomial_variables``.

    Returns:
        The monomials in the order of ``monomial_variables``.

    Example:
        >>> nke.operators.monomials(np.array([2.0, 3.0]), degree=2).tolist()
        [2.0, 3.0, 4.0, 6.0, 9.0]
    """
    columns = [np.array(variables).T for variables in monomial_variables(x.shape[-1], degree, pairs)]
    products = [reduce(mul, (x[..., i] for i in indices)) for indices in columns]
    return namespace(x).concatenate([x[..., :0], *products], axis=-1)


def monomial_degrees(inputs: int, degree: int, pairs: Pairs = ()) -> Int[np.ndarray, " n"]:
    """The degree of each of the ``monomials``.

    Args:
        inputs: Number of coordinates.
        degree: Largest number of factors.
        pairs: Columns that are cosine and sine of one angle.

    Returns:
        One number for each monomial, in their order.

    Example:
        >>> nke.operators.monomial_degrees(inputs=2, degree=2).tolist()
        [1, 1, 2, 2, 2]
    """
    return np.array([len(variables) for same in monomial_variables(inputs, degree, pairs) for variables in same], int)


def monomial_variables(inputs: int, degree: int, pairs: Pairs = ()) -> list[list[tuple[int, ...]]]:
    """The coordinates that are multiplied in each of the ``monomials``.

    Args:
        inputs: Number of coordinates.
        degree: Largest number of factors.
        pairs: Columns that are cosine and sine of one angle. Since cos² + sin² = 1, no product has a sine twice: what
            is left are the trigonometric polynomials, each of them once.

    Returns:
        For each degree from one on, the tuples of coordinates of its monomials.

    Example:
        >>> nke.operators.monomial_variables(inputs=2, degree=2)
        [[(0,), (1,)], [(0, 0), (0, 1), (1, 1)]]
    """
    sines = [sine for _, sine in pairs]
    return [
        [
            product
            for product in combinations_with_replacement(range(inputs), k)
            if all(product.count(i) < 2 for i in sines)
        ]
        for k in range(1, degree + 1)
    ]


class PolynomialPlusMLP(eqx.Module):
    """A·monomials(x) + b + network(x): a polynomial costs the network nothing and goes on beyond the data.

    It starts at zero.

    Args:
        inputs: Number of coordinates of the state.
        outputs: Number of values.
        width: Units in each hidden layer of the network.
        depth: Number of hidden layers; with 0 there is no network, the polynomial alone.
        degree: Degree of the polynomial.
        pairs: Columns that are cosine and sine of one angle.
        key: Random key for the network's start.

    Attributes:
        mlp: The network, or None.
        skip: The coefficients A and b.
        degree: Degree of the polynomial.
        pairs: Columns that are cosine and sine of one angle.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> body = nke.operators.PolynomialPlusMLP(2, 3, width=8, depth=1, key=jax.random.key(0))
        >>> body(jnp.ones(2)).tolist()
        [0.0, 0.0, 0.0]
    """

    mlp: eqx.nn.MLP | None
    skip: eqx.nn.Linear
    degree: int = eqx.field(static=True)
    pairs: Pairs = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int,
        depth: int,
        degree: int = 1,
        pairs: Pairs = (),
        *,
        key: PRNGKeyArray,
    ):
        self.mlp = zero_headed_mlp(inputs, outputs, width, depth, key) if depth else None
        terms = len(monomial_degrees(inputs, degree, pairs))
        self.skip = zero_linear(terms, outputs, key)
        self.degree, self.pairs = degree, pairs

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " n"]:
        """The values at one state."""
        polynomial = self.skip(monomials(x, self.degree, self.pairs))
        return polynomial if self.mlp is None else polynomial + self.mlp(x)

    def sizes(self) -> dict[str, int]:
        """Width and depth of the network, both 0 where there is a polynomial only.

        Example:
            >>> import jax
            >>> nke.operators.PolynomialPlusMLP(1, 1, width=4, depth=1, key=jax.random.key(0)).sizes()
            {'width': 4, 'depth': 1}
        """
        return sizes(self.mlp)
