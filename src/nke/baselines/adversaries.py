"""Generator and critic of the SDE-GAN on Diffrax: a neural SDE, and a neural CDE that reads its paths.

A whole batch is one equation, solved with one step per row of the data. Its clock counts rows, since steps may differ.
"""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Real

from nke.operators import Generator

LIPSCHITZ = 0.909  # 1/max|silu'|: a SiLU times this has slopes of at most one


class Driven(diffrax.AbstractTerm):
    """dy = f(y) dt + g(y) dX for a batch, driven by the given increments of t and X."""

    drift: Any  # (n,) -> (n,)
    control: Any  # (n,) -> (n, m)
    elapsed: Float[Array, "steps b"]
    increments: Float[Array, "steps b m"]

    def vf(self, t, y: Float[Array, "b n"], args) -> tuple[Float[Array, "b n"], Float[Array, "b n m"]]:
        """Drift and control of the batch at y."""
        return jax.vmap(self.drift)(y), jax.vmap(self.control)(y)

    def contr(self, t0: Real[Any, ""], t1: Real[Any, ""], **kwargs) -> tuple[Float[Array, " b"], Float[Array, "b m"]]:
        """Increments of time and of the driving path over the row that begins at t0."""
        row = jnp.round(jnp.asarray(t0)).astype(jnp.int32)
        return self.elapsed[row], self.increments[row]

    def prod(self, vf, control) -> Float[Array, "b n"]:
        """The step: drift times time plus control times increment."""
        (drift, noise), (elapsed, increment) = vf, control
        return drift * elapsed[:, None] + jnp.einsum("bnm,bm->bn", noise, increment)

    def solve(self, solver: diffrax.AbstractSolver, start: Float[Array, "b n"]) -> Float[Array, "rows b n"]:
        """Takes one step of the solver per row, in a plain scan: rows are the only times there are."""

        def advance(carry, row):
            y, memory = carry
            y, _, _, memory, _ = solver.step(self, row, row + 1, y, None, memory, False)
            return (y, memory), y

        rows = jnp.arange(len(self.elapsed), dtype=start.dtype)
        begin = (start, solver.init(self, rows[0], rows[0] + 1, start, None))
        return jnp.concatenate([start[None], jax.lax.scan(advance, begin, rows)[1]])


@eqx.filter_jit
def generate(
    generator: Generator, times: Float[Array, "rows b"], start: Float[Array, "b d"], key: PRNGKeyArray
) -> Float[Array, "rows b d"]:
    """Simulates paths of dx = f dt + g dW by Euler–Maruyama."""
    elapsed = jnp.diff(times, axis=0)
    brownian = jnp.sqrt(elapsed)[..., None] * jax.random.normal(key, (*elapsed.shape, start.shape[-1]))
    return Driven(generator.advection.drift, generator.diffusion.factor, elapsed, brownian).solve(
        diffrax.Euler(), start
    )


class Critic(eqx.Module):
    """Score of a path x: h₀ = ζ(x₀), dh = F(h) dt + G(h) dx, the score is linear in the last h.

    Slopes are bounded: LipSwish between the layers, tanh after the last, weights clipped after every step.
    """

    initial: eqx.nn.MLP
    drift: eqx.nn.MLP
    control: eqx.nn.MLP
    readout: eqx.nn.Linear

    def __init__(self, dimension: int, hidden: int, *, key: PRNGKeyArray):
        keys = jax.random.split(key, 4)
        self.initial = eqx.nn.MLP(dimension, hidden, hidden, 1, lipswish, key=keys[0])
        self.drift = eqx.nn.MLP(hidden, hidden, hidden, 1, lipswish, jnp.tanh, key=keys[1])
        self.control = eqx.nn.MLP(hidden, hidden * dimension, hidden, 1, lipswish, jnp.tanh, key=keys[2])
        self.readout = eqx.nn.Linear(hidden, 1, key=keys[3])

    def __call__(self, times: Float[Array, "rows b"], paths: Float[Array, "rows b d"]) -> Float[Array, " b"]:
        """Scores every path of a batch."""

        def control(h):
            return self.control(h).reshape(len(h), -1)

        equation = Driven(self.drift, control, jnp.diff(times, axis=0), jnp.diff(paths, axis=0))
        last = equation.solve(diffrax.ReversibleHeun(), jax.vmap(self.initial)(paths[0]))[-1]
        return jax.vmap(self.readout)(last)[:, 0]

    def clipped(self, bound: float) -> "Critic":
        """Gives a critic with every weight of a layer within ± bound over its number of inputs.

        No layer then enlarges the largest entry by more than that bound.
        """

        def clip(node):
            if not isinstance(node, eqx.nn.Linear):
                return node
            most = bound / node.weight.shape[1]
            return eqx.tree_at(lambda layer: layer.weight, node, jnp.clip(node.weight, -most, most))

        return jax.tree.map(clip, self, is_leaf=lambda node: isinstance(node, eqx.nn.Linear))


def lipswish(x: Array) -> Array:
    """SiLU scaled to slopes of at most one."""
    return LIPSCHITZ * jax.nn.silu(x)
