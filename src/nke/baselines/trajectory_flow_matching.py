"""Trajectory Flow Matching (Zhang et al., 2024): a flow from each observation to the next, and its uncertainty."""

import time
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nke.arrays import cholesky
from nke.baselines.no_jumps import NO_JUMPS, refuse_jumps
from nke.data import Coordinates, Trajectories, Transitions
from nke.errors import InputError
from nke.fitting import (
    Blocks,
    Decision,
    Estimate,
    FitResult,
    FitRun,
    Schedule,
    Steps,
    Trainer,
    division,
    moments_without_jumps,
)
from nke.model import Model
from nke.operators import (
    Advection,
    Diffusion,
    DriftNetwork,
    Euler,
    EulerMaruyamaRule,
    Generator,
    PolynomialPlusMLP,
    ScalarFactor,
)

RATE = 9e-3  # of learning, at its start
DRAWS = 8  # points between two observations that a transition is seen at, one in each eighth of the way


class Flow(eqx.Module):
    """Velocity v(x, τ) and uncertainty σ(x, τ) at x, a share τ of the way from one observation to the next.

    Both are networks of the state whose bodies take τ for one more coordinate.
    """

    velocity: DriftNetwork
    uncertainty: ScalarFactor

    def __init__(
        self, speed: Float[Array, " d"], spread: Float[Array, "d d"], width: int, depth: int, *, key: PRNGKeyArray
    ):
        d, keys = len(speed), jax.random.split(key)
        self.velocity = _with_body(
            DriftNetwork(speed, width, depth, key=keys[0]), PolynomialPlusMLP(d + 1, d, width, depth, key=keys[0])
        )
        self.uncertainty = _with_body(
            ScalarFactor(spread, width, depth, key=keys[1]), PolynomialPlusMLP(d + 1, 1, width, depth, key=keys[1])
        )

    def __call__(self, x: Float[Array, " d"], share: Float[Array, ""]) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Gives velocity and uncertainty at x, a share of the way to the next observation."""
        both = jnp.append(x, share)
        deviation = self.uncertainty.deviation(self.uncertainty.body(both))
        return self.velocity.scale.value * self.velocity.body(both), deviation

    def at_observations(self) -> Generator:
        """Gives drift v(x, 0) and noise σ(x, 0)·I as networks of the state alone: at τ = 0 its column drops out."""
        drift, noise = (
            _with_body(network, _without_share(network.body)) for network in (self.velocity, self.uncertainty)
        )
        return Generator(Advection(drift), Diffusion(noise))


def _with_body(network: Any, body: PolynomialPlusMLP) -> Any:
    return eqx.tree_at(lambda n: n.body, network, body)


def _without_share(body: PolynomialPlusMLP) -> PolynomialPlusMLP:
    """The same function at τ = 0, of the state alone."""
    mlp, (outputs, inputs) = body.mlp, body.skip.weight.shape
    assert mlp is not None
    shorter = PolynomialPlusMLP(inputs - 1, outputs, mlp.width_size, mlp.depth, key=jax.random.key(0))
    assert shorter.mlp is not None
    layers = (_without_last_input(mlp.layers[0], shorter.mlp.layers[0]), *mlp.layers[1:])
    skip = _without_last_input(body.skip, shorter.skip)
    return eqx.tree_at(lambda b: (b.mlp.layers, b.skip), shorter, (layers, skip))


def _without_last_input(layer: eqx.nn.Linear, shorter: eqx.nn.Linear) -> eqx.nn.Linear:
    return eqx.tree_at(lambda n: (n.weight, n.bias), shorter, (layer.weight[:, :-1], layer.bias))


class FlowLoss(eqx.Module):
    """Loss of a prediction x̂₁ of the next observation: |x̂₁ − x₁|² + log σ̂² + |x̂₁ − x₁|²/σ̂², per coordinate.

    The state is seen at x_τ = (1−τ) x₀ + τ x₁ + noise·√(τ(1−τ)) ξ and the prediction is x̂₁ = x_τ + (1−τ)·s·v(x_τ, τ).
    σ̂² = s·σ²·((1−τ)² + noise²·τ(1−τ)), so that σ need not know how much of the way is left; its square becomes the mean
    squared error. The uncertainty takes the error as given: it is not to change what is predicted.
    """

    size: Float[Array, ""]  # root mean square motion per coordinate over √step, the unit of errors and of noise
    noise: float = eqx.field(static=True)

    def __call__(self, flow: Flow, data: Steps, block: Int[Array, ""]) -> Float[Array, ""]:
        """Evaluates the loss of one transition at one point of the way, drawn from the number of the block."""
        i, draw = block // DRAWS, block % DRAWS
        where, xi = jax.random.split(jax.random.fold_in(jax.random.key(0), block))
        share = (draw + jax.random.uniform(where)) / DRAWS
        x, moved, step = data.x[i], data.displacement[i], data.step[i]
        unit = jnp.sqrt(step) * self.size
        bridge = self.noise**2 * share * (1 - share)
        shift = share * moved + jnp.sqrt(bridge) * unit * jax.random.normal(xi, x.shape)
        velocity, uncertainty = flow(x + shift, share)
        error = jnp.mean(((1 - share) * step * velocity - (moved - shift)) ** 2) / unit**2
        variance = (uncertainty / self.size) ** 2 * ((1 - share) ** 2 + bridge)
        return error + jnp.log(variance) + jax.lax.stop_gradient(error) / variance


@dataclass(frozen=True)
class TrajectoryFlowMatching:
    """Matches a flow between consecutive observations, with a scalar uncertainty network for the noise.

    The model is simulated as the SDE of drift v and noise σ·I, one step per step of the data; docs/baselines.md says
    why.

    Args:
        noise: Noise of the interpolation, as a multiple of the motion of a step.
        width: Units of each hidden layer of both networks.
        depth: Hidden layers of both networks.
        held_out: Share of the trajectories on which the loss is checked.
        schedule: How long and how fast to train.

    Raises:
        InputError: If an option is out of its range.

    Example:
        >>> method = nke.baselines.TrajectoryFlowMatching(width=32)  # then nke.fit(data, method)
        >>> method.width, method.depth, method.noise
        (32, 2, 0.1)
    """

    noise: float = 0.1
    width: int = 64
    depth: int = 2
    held_out: float = 0.1
    schedule: Schedule = field(default_factory=lambda: Schedule(3000, learning_rate=RATE, particles=2048, patience=15))

    def __post_init__(self):
        if self.width < 1 or self.depth < 1 or not 0 < self.held_out < 1 or not self.noise >= 0:
            raise InputError(
                f"expected width, depth ≥ 1, noise ≥ 0 and held_out between 0 and 1; got {self}; correct what is not"
            )

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        """Fits the baseline; call ``nke.fit(data, method)``, which prepares the rest.

        Args:
            data: The trajectories.
            coordinates: Those that the training runs in.
            jumps: False or None: there is no jump part.
            run: Seed, progress and checkpoint.

        Returns:
            The model, its history, timings and what was decided.

        Raises:
            InputError: If ``jumps`` is True.

        Example:
            >>> schedule = nke.Schedule(steps=1, particles=64)
            >>> method = nke.baselines.TrajectoryFlowMatching(width=4, depth=1, schedule=schedule)
            >>> learned = method.fit(data, nke.Coordinates.zscore(data), jumps=None, run=nke.fitting.FitRun(seed=0))
            >>> learned.history["flow"].steps.tolist()
            [1]
        """
        refuse_jumps(jumps, self)
        clock = time.perf_counter()
        parts = [part.transitions() for part in data.hold_out(self.held_out, run.seed)]
        training, held_out = (_blocks(part, coordinates) for part in parts)
        trainer = Trainer(self.schedule, run)
        moved, step = coordinates.displacement_to(parts[0].displacement), coordinates.step_to(parts[0].step)
        spread = moments_without_jumps(moved, step).noise
        speed = np.sqrt(np.mean((moved / step[:, None]) ** 2, axis=0))
        start = Flow(
            _float32(np.where(speed > 0, speed, 1.0)),
            _float32(cholesky(spread)),
            self.width,
            self.depth,
            key=trainer.key(),
        )
        loss = FlowLoss(start.uncertainty.start.value, self.noise)
        prepared = time.perf_counter() - clock
        flow = trainer.train("flow", loss, start, (training, held_out))
        typical = float(np.median(parts[0].step))
        model = Model(
            flow.at_observations(), coordinates, typical, data.names, data.units, EulerMaruyamaRule(), Euler()
        )
        decisions = (
            division(len(parts[0]), len(parts[1]), self.held_out),
            NO_JUMPS,
            Decision(
                "Which law was chosen?",
                f"scalar noise; networks of {self.depth} × {self.width}",
                {"noise of the interpolation": self.noise},
                "trajectory flow matching",
                "method",
            ),
        )
        score = Estimate.of(model.log_prob(parts[1].y, given=parts[1].x, step=parts[1].step))
        timings = {"preparation": prepared, **trainer.timings()}
        return FitResult(model, trainer.history, timings, decisions, score=score)


def _blocks(part: Transitions, coordinates: Coordinates) -> Blocks:
    """Takes every transition ``DRAWS`` times."""
    steps = Steps(
        _float32(coordinates.to(part.x)),
        _float32(coordinates.displacement_to(part.displacement)),
        _float32(coordinates.step_to(part.step)),
    )
    return Blocks(steps, DRAWS * len(part), 1)


def _float32(a: np.ndarray) -> Float[Array, "..."]:
    return jnp.asarray(a, jnp.float32)
