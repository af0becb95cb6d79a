"""The learned law of jumps: over a step of fixed length, or as a rate and the law of one jump."""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from nke.mixtures import GaussianMixture
from nke.operators.configuration import Configuration, Registry, any_key
from nke.operators.networks.mlp import sizes, with_outputs, zero_headed_mlp
from nke.operators.networks.parameters import Fixed
from nke.operators.networks.smooth import SmoothBasis, SmoothFunction, bounded_exponential
from nke.operators.networks.triangular import FLOOR, lower_factor, positive

FINITE_TIME_LAWS = Registry("finite-time jump law")
JUMP_MEASURES = Registry("jump measure")


class JumpMixture(NamedTuple):
    """H^s at one state: log weight of δ₀, then shares, means and covariances of the jumps."""

    log_no_jump: Float[Array, ""]
    shares: Float[Array, " k"]
    means: Float[Array, "k d"]
    covariances: Float[Array, "k d d"]


@FINITE_TIME_LAWS.register
class MixtureDensityNetwork(eqx.Module):
    """H^s(x) = α₀(x) δ₀ + Σ_k α_k(x) G_{β_k(x), γ_k(x)} with γ_k bounded from below.

    It starts with means spread over ±1 scale.

    Args:
        scale: Size of the jumps in each coordinate.
        probability: Chance of a jump at the start.
        components: Number of Gaussians besides δ₀.
        width: Units in each hidden layer.
        depth: Number of hidden layers.
        inputs: Number of coordinates of the state, if not that of ``scale``.
        key: Random key for the start.

    Attributes:
        mlp: The network.
        scale: The sizes, which are not trained.
        components: Number of Gaussians.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> options = {"components": 2, "width": 4, "depth": 1, "key": jax.random.key(0)}
        >>> network = nke.operators.MixtureDensityNetwork(jnp.ones(1), 0.1, **options)
        >>> round(float(jnp.exp(network(jnp.zeros(1)).log_no_jump)), 3)
        0.9
    """

    kind: ClassVar[str] = "mixture-density-network"
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
        inputs: int | None = None,
        *,
        key: PRNGKeyArray,
    ):
        d = len(scale)
        per_component = 1 + d + d * (d + 1) // 2
        start_key, key = jax.random.split(key)
        mlp = zero_headed_mlp(inputs or d, 1 + components * per_component, width, depth, key)
        table = np.zeros((components, per_component), np.float32)
        if components > 1:
            table[:, 1 : 1 + d] = np.asarray(jax.random.normal(start_key, (components, d)))
        bias = np.concatenate([[np.log(probability / (1 - probability))], table.ravel()]).astype(np.float32)
        self.mlp = eqx.tree_at(lambda m: m.layers[-1].bias, mlp, jnp.asarray(bias))
        self.scale = Fixed(jnp.asarray(scale))
        self.components = components

    def __call__(self, x: Float[Array, " d"]) -> JumpMixture:
        """The law of the displacement by jumps from one state."""
        scale = self.scale.value
        d = len(scale)
        raw = self.mlp(x)
        table = raw[1:].reshape(self.components, -1)
        factors = scale[:, None] * jax.vmap(lambda row: lower_factor(row, d))(table[:, 1 + d :])
        return JumpMixture(
            log_no_jump=-jax.nn.softplus(raw[0]),
            shares=jax.nn.softmax(table[:, 0]),
            means=scale * table[:, 1 : 1 + d],
            covariances=factors @ jnp.swapaxes(factors, -1, -2),
        )

    def prune(self, keep: list[int]) -> "MixtureDensityNetwork":
        """The network with some of its components; the softmax shares out what the others had.

        Args:
            keep: The components to keep, in their new order.

        Returns:
            The smaller network.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"components": 2, "width": 4, "depth": 1, "key": jax.random.key(0)}
            >>> network = nke.operators.MixtureDensityNetwork(jnp.ones(1), 0.1, **options)
            >>> network.prune([1]).components
            1
        """
        bias = self.mlp.layers[-1].bias
        assert bias is not None
        rows = np.arange(1, len(bias)).reshape(self.components, -1)[keep]
        shape = (self.mlp.width_size, self.mlp.depth, int(self.mlp.in_size))
        smaller = MixtureDensityNetwork(self.scale.value, 0.5, len(keep), *shape, key=jax.random.key(0))
        return eqx.tree_at(lambda m: m.mlp, smaller, with_outputs(self.mlp, np.concatenate([[0], rows.ravel()])))

    def configuration(self) -> Configuration:
        """The kind of the network and its options, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"components": 2, "width": 4, "depth": 1, "key": jax.random.key(0)}
            >>> network = nke.operators.MixtureDensityNetwork(jnp.ones(1), 0.1, **options)
            >>> network.configuration()
            {'kind': 'mixture-density-network', 'components': 2, 'width': 4, 'depth': 1}
        """
        return {"kind": self.kind, "components": self.components, **sizes(self.mlp)}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "MixtureDensityNetwork":
        """A network of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that may jump.

        Returns:
            The network.

        Example:
            >>> stored = {"kind": "mixture-density-network", "components": 1, "width": 4, "depth": 1}
            >>> made = nke.operators.MixtureDensityNetwork.from_configuration(stored, inputs=1, outputs=1)
            >>> made.configuration() == stored
            True
        """
        options = {name: configuration[name] for name in ("components", "width", "depth")}
        return cls(jnp.ones(outputs), 0.5, **options, inputs=inputs, key=any_key())


@JUMP_MEASURES.register
class JumpNetwork(eqx.Module):
    """Jump measure: rate λ(x) and shares of the components depend on the state, their shapes too if so asked.

    A component's root mean square size, in units of the noise of one step, is at least one: below that a
    jump cannot be told from diffusion.

    Args:
        scale: Size of the jumps in each coordinate that jumps; means start within it.
        noise: Factor of the covariance of the noise of one step.
        rate: Jumps per unit time at the start.
        components: Number of Gaussians.
        width: Units in each hidden layer.
        depth: Number of hidden layers; with 0 rate and shares are the same everywhere.
        state_dependent_shapes: Whether means and covariances depend on the state.
        inputs: Number of coordinates of the state, if not that of ``scale``.
        key: Random key for the start.

    Attributes:
        mlp: From the state to the rate, the shares and what is added to means and factors: a network, or a smooth
            function, of which the rate is an exponential.
        means: Means of the components in units of ``scale``.
        factors: Entries of the lower-triangular factors of their covariances, likewise.
        scale: The sizes, which are not trained.
        rate: The rate at the start, which is not trained.
        whiten: The inverse of ``noise``, which is not trained.
        state_dependent_shapes: Whether means and covariances depend on the state.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> options = {"rate": 2.0, "components": 1, "width": 4, "depth": 1, "key": jax.random.key(0)}
        >>> network = nke.operators.JumpNetwork(jnp.ones(1), 0.1 * jnp.eye(1), **options)
        >>> rate, law = network(jnp.zeros(1))
        >>> round(float(rate), 3), law.components
        (2.0, 1)
    """

    kind: ClassVar[str] = "jump-network"
    mlp: eqx.nn.MLP | SmoothFunction
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
        d = len(scale)
        mean_key, key = jax.random.split(key)
        entries = d * (d + 1) // 2
        seen = (inputs or d) if depth else 0
        outputs = 1 + components * (1 + state_dependent_shapes * (d + entries))
        self.mlp = zero_headed_mlp(seen, outputs, width, depth, key)
        nothing = np.zeros((components, d), np.float32)
        self.means = jnp.asarray(nothing) if components == 1 else jax.random.normal(mean_key, (components, d))
        self.factors = jnp.asarray(np.zeros((components, entries), np.float32))
        self.scale = Fixed(jnp.asarray(scale))
        self.rate = Fixed(jnp.asarray(rate, jnp.float32))
        self.whiten = Fixed(jnp.linalg.inv(noise))
        self.state_dependent_shapes = state_dependent_shapes

    @property
    def components(self) -> int:
        """Number of Gaussians.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"rate": 2.0, "components": 2, "width": 4, "depth": 0, "key": jax.random.key(0)}
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), 0.1 * jnp.eye(1), **options)
            >>> network.components
            2
        """
        return self.means.shape[0]

    def starting_from(self, law: GaussianMixture) -> "JumpNetwork":
        """The same network with the weights and shapes of a law as its start.

        Args:
            law: As many Gaussians as the network has components.

        Returns:
            The new network.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"rate": 2.0, "components": 2, "width": 4, "depth": 0, "key": jax.random.key(0)}
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), 0.1 * jnp.eye(1), **options)
            >>> law = nke.GaussianMixture(jnp.array([0.25, 0.75]), jnp.array([[-1.0], [1.0]]), jnp.ones((2, 1, 1)))
            >>> network.starting_from(law)(jnp.zeros(1))[1].means.tolist()
            [[-1.0], [1.0]]
        """
        scale = np.asarray(self.scale.value)
        lower = np.linalg.cholesky(np.asarray(law.covariances)) / scale[:, None]
        i, j = np.tril_indices(len(scale))
        wanted = np.maximum(lower[:, i, j] - np.where(i == j, FLOOR, 0.0), np.where(i == j, FLOOR, -np.inf))
        raw = np.where(i == j, np.log(np.expm1(np.where(i == j, wanted, 1.0))) - np.log(np.expm1(1.0)), wanted)
        bias = np.zeros(len(self._constants))
        bias[1 : 1 + self.components] = np.log(np.asarray(law.weights))
        return eqx.tree_at(
            lambda network: (network.means, network.factors, network.mlp.layers[-1].bias),
            self,
            tuple(jnp.asarray(a, jnp.float32) for a in (np.asarray(law.means) / scale, raw, bias)),
        )

    def with_basis(self, basis: SmoothBasis, used: Bool[np.ndarray, "o f"] | None = None) -> "JumpNetwork":
        """The same network with smooth functions of the state in the place of a perceptron, starting at constants.

        Args:
            basis: The features of these functions.
            used: Which weights are learned, those of the constants (the first column) among them; all by default.

        Returns:
            The new network.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), one, 2.0, 1, 4, 1, key=jax.random.key(0))
            >>> smooth = network.with_basis(nke.operators.SmoothBasis(1, one, one, [one]))
            >>> float(smooth(jnp.zeros(1))[0])  # the rate
            2.0
        """
        constants = np.array(self._constants)
        if not isinstance(self.mlp, SmoothFunction):  # whose rate is no exponential
            constants[0] = np.log(positive(jnp.asarray(constants[0])))
        weights = np.zeros((len(constants), basis.size), np.float32)
        weights[:, 0] = constants
        return eqx.tree_at(lambda network: network.mlp, self, SmoothFunction(basis, weights, used))

    def prune(self, keep: list[int]) -> "JumpNetwork":
        """The network with some of its components; the softmax shares out what the others had.

        Args:
            keep: The components to keep, in their new order.

        Returns:
            The smaller network.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"rate": 2.0, "components": 2, "width": 4, "depth": 0, "key": jax.random.key(0)}
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), 0.1 * jnp.eye(1), **options)
            >>> network.prune([1]).components
            1
        """
        shares, shapes = np.split(np.arange(1, len(self._constants)), [self.components])
        rows = [np.array([0]), shares[keep], shapes.reshape(self.components, -1)[keep].ravel()]
        return eqx.tree_at(
            lambda network: (network.mlp, network.means, network.factors),
            self,
            (self._with_outputs(np.concatenate(rows)), self.means[np.array(keep)], self.factors[np.array(keep)]),
        )

    def __call__(self, x: Float[Array, " d"]) -> tuple[Float[Array, ""], GaussianMixture]:
        """The rate at one state, and the law of one jump there."""
        raw = self._raw(x)
        means, factors = self._shapes(raw)
        shares = jax.nn.softmax(raw[1 : 1 + self.components])
        rate = bounded_exponential(raw[0]) if isinstance(self.mlp, SmoothFunction) else positive(raw[0])
        return self.rate.value * rate, GaussianMixture(shares, means, factors @ jnp.swapaxes(factors, -1, -2))

    def size_over_noise(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """Root mean square size of each component over the noise of a step.

        Args:
            x: One state.

        Returns:
            A number for each component, at least one.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"rate": 2.0, "components": 2, "width": 4, "depth": 0, "key": jax.random.key(0)}
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), 0.1 * jnp.eye(1), **options)
            >>> bool((network.size_over_noise(jnp.zeros(1)) > 10).all())  # jumps of order 1, noise of 0.1
            True
        """
        return self._size(*self._shapes(self._raw(x)))

    def configuration(self) -> Configuration:
        """The kind of the network and its options, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"rate": 2.0, "components": 2, "width": 4, "depth": 0, "key": jax.random.key(0)}
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), 0.1 * jnp.eye(1), **options)
            >>> network.configuration()["components"]
            2
        """
        return {
            "kind": self.kind,
            "components": self.components,
            **({"smooth": self.mlp.configuration()} if isinstance(self.mlp, SmoothFunction) else sizes(self.mlp)),
            "state_dependent_shapes": self.state_dependent_shapes,
        }

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "JumpNetwork":
        """A network of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that may jump.

        Returns:
            The network.

        Example:
            >>> sizes = {"components": 1, "width": 4, "depth": 0}
            >>> stored = {"kind": "jump-network", **sizes, "state_dependent_shapes": False}
            >>> nke.operators.JumpNetwork.from_configuration(stored, inputs=1, outputs=1).configuration() == stored
            True
        """
        options = {name: configuration[name] for name in ("components", "state_dependent_shapes")}
        options |= {name: configuration.get(name, 0) for name in ("width", "depth")}
        network = cls(jnp.ones(outputs), jnp.eye(outputs), 1.0, **options, inputs=inputs, key=any_key())
        if "smooth" not in configuration:
            return network
        body = SmoothFunction.from_configuration(configuration["smooth"], inputs, len(network._constants))
        return eqx.tree_at(lambda network: network.mlp, network, body)

    @property
    def _constants(self) -> Float[Array, " o"]:
        """The part of rate, shares and shapes that does not depend on the state."""
        if isinstance(self.mlp, SmoothFunction):
            return self.mlp.weights[self.mlp.columns == 0]
        bias = self.mlp.layers[-1].bias
        assert bias is not None
        return bias

    def _with_outputs(self, rows: Int[np.ndarray, " n"]) -> eqx.nn.MLP | SmoothFunction:
        return self.mlp.with_outputs(rows) if isinstance(self.mlp, SmoothFunction) else with_outputs(self.mlp, rows)

    def _raw(self, x: Float[Array, " d"]) -> Float[Array, " o"]:
        return self.mlp(x) if isinstance(self.mlp, SmoothFunction) else self.mlp(x[: self.mlp.in_size])

    def _shapes(self, raw: Float[Array, " o"]) -> tuple[Float[Array, "k d"], Float[Array, "k d d"]]:
        """Means and lower factors of the components, none smaller than the noise of a step."""
        scale, d = self.scale.value, self.means.shape[1]
        means, entries = self.means, self.factors
        if self.state_dependent_shapes:
            shift = raw[1 + self.components :].reshape(self.components, -1)
            means, entries = means + shift[:, :d], entries + shift[:, d:]
        means, factors = scale * means, scale[:, None] * jax.vmap(lambda row: lower_factor(row, d))(entries)
        grow = jnp.maximum(1.0, 1 / self._size(means, factors))
        return grow[:, None] * means, grow[:, None, None] * factors

    def _size(self, means: Float[Array, "k d"], factors: Float[Array, "k d d"]) -> Float[Array, " k"]:
        """Root mean square length of each component in units of the noise."""
        white = self.whiten.value @ jnp.concatenate([means[:, :, None], factors], axis=-1)
        return jnp.sqrt(jnp.sum(white**2, axis=(-2, -1)))
