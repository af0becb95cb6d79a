"""The learned drift."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nke.operators.configuration import Configuration, Registry, any_key
from nke.operators.networks.parameters import Fixed
from nke.operators.networks.polynomial import Pairs, PolynomialPlusMLP
from nke.operators.networks.seen_states import SeenStates

DRIFTS = Registry("drift")


@DRIFTS.register
class DriftNetwork(eqx.Module):
    """f(x) = scale · (polynomial(x) + network(x)), starting at zero.

    It may give fewer coordinates than the state has, where positions follow their velocities.

    Args:
        scale: Size of the drift of each coordinate that it gives, so that what is learned is of order one.
        width: Units in each hidden layer.
        depth: Number of hidden layers; 0 for a polynomial alone.
        degree: Degree of the polynomial: 1, 2 or 3.
        inputs: Number of coordinates of the state, if not that of ``scale``.
        pairs: Coordinates that are cosine and sine of one angle.
        seen: States of the data, if the drift is to be that at the nearest of them where there are none; None: it goes
            on beyond the data as the polynomial does.
        key: Random key for the network's start.

    Attributes:
        body: Polynomial and network.
        scale: The sizes, which are not trained.
        seen: As above.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> drift = nke.operators.DriftNetwork(jnp.array([2.0]), width=4, depth=1, key=jax.random.key(0))
        >>> drift.starting_from(jnp.array([0.5]), jnp.array([[-1.0]]))(jnp.array([3.0])).tolist()
        [-2.5]
    """

    kind: ClassVar[str] = "polynomial-plus-mlp"
    body: PolynomialPlusMLP
    scale: Fixed
    seen: SeenStates | None = None

    def __init__(
        self,
        scale: Float[Array, " r"],
        width: int,
        depth: int,
        degree: int = 1,
        inputs: int | None = None,
        pairs: Pairs = (),
        seen: SeenStates | None = None,
        *,
        key: PRNGKeyArray,
    ):
        self.body = PolynomialPlusMLP(inputs or len(scale), len(scale), width, depth, degree, pairs, key=key)
        self.scale, self.seen = Fixed(jnp.asarray(scale)), seen

    def starting_from(self, constant: Float[Array, " r"], slopes: Float[Array, "r n"]) -> "DriftNetwork":
        """The same network with the polynomial b + A·monomials(x) as its start.

        Args:
            constant: The vector b.
            slopes: The matrix A, a column for each of the ``monomials``.

        Returns:
            The new network.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> drift = nke.operators.DriftNetwork(jnp.ones(1), width=4, depth=1, key=jax.random.key(0))
            >>> drift.starting_from(jnp.array([0.5]), jnp.array([[-1.0]]))(jnp.array([3.0])).tolist()  # 0.5 − x
            [-2.5]
        """
        scale = np.asarray(self.scale.value)
        return eqx.tree_at(
            lambda drift: (drift.body.skip.weight, drift.body.skip.bias),
            self,
            tuple(
                jnp.asarray(np.asarray(a, scale.dtype) / per)
                for a, per in ((slopes, scale[:, None]), (constant, scale))
            ),
        )

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " r"]:
        """The drift at one state."""
        return self.scale.value * self.body(x if self.seen is None else self.seen.nearest(x))

    def within(self, x: Float[np.ndarray, "n d"]) -> "DriftNetwork":
        """The drift that is, beyond some states, as at the nearest of them: powers say nothing of what lies there.

        Args:
            x: The states.

        Returns:
            A drift that is the same at these states.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> drift = nke.operators.DriftNetwork(jnp.array([2.0]), 0, 0, key=jax.random.key(0))
            >>> line = drift.starting_from(jnp.zeros(1), jnp.array([[1.0]]))
            >>> line.within(np.array([[0.0], [1.0]]))(jnp.array([5.0])).tolist()
            [1.0]
        """
        shape = {**self.body.sizes(), "degree": self.body.degree, "inputs": x.shape[1], "pairs": self.body.pairs}
        same = DriftNetwork(self.scale.value, **shape, seen=SeenStates.of(x), key=any_key())
        return eqx.tree_at(lambda drift: drift.body, same, self.body)

    def configuration(self) -> Configuration:
        """The kind of the network and its options, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> drift = nke.operators.DriftNetwork(jnp.ones(1), width=4, depth=1, key=jax.random.key(0))
            >>> drift.configuration()
            {'kind': 'polynomial-plus-mlp', 'width': 4, 'depth': 1, 'degree': 1}
        """
        pairs = {"pairs": [list(pair) for pair in self.body.pairs]} if self.body.pairs else {}
        body = {**self.body.sizes(), "degree": self.body.degree, **pairs}
        seen = {} if self.seen is None else {"seen": self.seen.configuration()}
        return {"kind": self.kind, **body, **seen}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "DriftNetwork":
        """A network of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that the drift is given for.

        Returns:
            The network.

        Example:
            >>> stored = {"kind": "polynomial-plus-mlp", "width": 4, "depth": 1, "degree": 1}
            >>> nke.operators.DriftNetwork.from_configuration(stored, inputs=1, outputs=1).configuration() == stored
            True
        """
        width, depth, degree = (configuration[name] for name in ("width", "depth", "degree"))
        pairs = tuple((int(i), int(j)) for i, j in configuration.get("pairs", ()))
        seen = SeenStates.from_configuration(configuration.get("seen"), inputs)
        return cls(jnp.ones(outputs), width, depth, degree, inputs, pairs, seen, key=any_key())
