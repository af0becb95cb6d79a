"""Maximum likelihood of the true parametric family: what the data allows to someone who knows the equations."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.interpolate import RectBivariateSpline
from scipy.optimize import minimize
from scipy.stats import norm

from nke.arrays import log_normal_density
from nke.data import Trajectories, Transitions
from nke.errors import InputError
from nke.systems import DoubleWell, Langevin, Lorenz
from nke.systems.cubic_well import CubicWell


def fit_lorenz(data: Trajectories, most_turn: float = 1.0) -> Lorenz:
    """Fits σ, ρ, β and the noise by Gaussian quasi-likelihood with the conditional mean and covariance of each step.

    It begins at weighted least squares for the drift, in whose rows each parameter is alone, and at the quadratic
    variation for the noise; both are biased over a whole step. Steps in which the drift turns the state by more than
    ``most_turn`` (radians) are left out, since the moments are not followed through them.
    """
    seen = data.transitions()
    # The drift turns (y, z) by the angle x·t. Choosing by the state that a step starts from biases nothing.
    seen = seen.take(np.abs(seen.x).max(axis=1) * seen.step < most_turn)
    with jax.enable_x64(True):
        arrays = tuple(jnp.asarray(a) for a in (seen.x, seen.y, seen.step))

        @jax.jit
        @jax.value_and_grad
        def minus_log_likelihood(parameters: Float[Array, " 4"]) -> Float[Array, ""]:
            def one(x, y, step):
                mean, covariance = lorenz_moments(parameters[:3], jnp.exp(parameters[3]), x, step)
                return log_normal_density(y - mean, covariance)

            return -jnp.mean(jax.vmap(one)(*arrays))

        def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = minus_log_likelihood(jnp.asarray(parameters))
            return float(value), np.asarray(slope)

        found = minimize(objective, _lorenz_start(seen), jac=True, method="L-BFGS-B", options={"ftol": 1e-12})
    sigma, rho, beta, log_noise = found.x.tolist()
    return Lorenz(noise=float(np.exp(log_noise)), sigma=sigma, rho=rho, beta=beta)


def fit_langevin(data: Trajectories) -> Langevin:
    """Takes friction from the autocorrelation of the velocity over a step, and diffusivity from its variance.

    It is the limit of a gas of infinitely light particles, not the gas itself.
    """
    seen = data.transitions()
    before, after = seen.x[:, 3:], seen.y[:, 3:]
    friction = -np.log(np.sum(before * after) / np.sum(before**2)) / float(np.median(seen.step))
    return Langevin(friction=float(friction), diffusivity=float(np.mean(before**2) / friction))


def _lorenz_drift(parameters: Any, x: Any) -> Any:
    """With parameters that may be traced: each is alone in its row, where it enters linearly."""
    rest = Lorenz(sigma=0.0, rho=0.0, beta=0.0).drift(x)
    return rest + parameters * (Lorenz(sigma=1.0, rho=1.0, beta=1.0).drift(x) - rest)


def _lorenz_start(seen: Transitions) -> Float[np.ndarray, " 4"]:
    rest = np.asarray(_lorenz_drift(np.zeros(3), seen.x))
    term = np.asarray(_lorenz_drift(np.ones(3), seen.x)) - rest
    size = np.abs(seen.x) + 0.1 * np.median(np.abs(seen.x), axis=0)  # the noise is in proportion to the state
    speed = seen.displacement / seen.step[:, None] - rest
    slopes = np.sum(speed * term / size**2, axis=0) / np.sum(term**2 / size**2, axis=0)
    left = (speed - term * slopes) * np.sqrt(seen.step)[:, None] / size
    return np.array([*slopes, np.log(np.median(np.abs(left)) / norm.ppf(0.75))])


def lorenz_moments(
    parameters: Float[Array, " 3"],
    noise: Float[Array, ""],
    x: Float[Array, " 3"],
    step: Float[Array, ""],
    substeps: int = 2,
) -> tuple[Float[Array, " 3"], Float[Array, "3 3"]]:
    """Conditional mean and covariance a step later: m' = ⟨f⟩, P' = JP + PJᵀ + ⟨a⟩, closed by a Gaussian.

    f and a are quadratic, so that both averages are exact given m and P. Integrated by ``substeps`` Runge–Kutta steps.
    """

    def drift(x):
        return _lorenz_drift(parameters, x)

    def rates(moments):
        mean, covariance = moments
        carried = jax.jacfwd(drift)(mean) @ covariance
        curved = jnp.einsum("ijk,jk->i", jax.hessian(drift)(mean), covariance) / 2
        spread = jnp.diag(noise**2 * (mean**2 + jnp.diag(covariance)))
        return drift(mean) + curved, carried + carried.T + spread

    def move(moments, slope, time):
        return jax.tree.map(lambda a, b: a + time * b, moments, slope)

    moments, h = (x, jnp.zeros((3, 3))), step / substeps
    for _ in range(substeps):
        first = rates(moments)
        second = rates(move(moments, first, h / 2))
        third = rates(move(moments, second, h / 2))
        fourth = rates(move(moments, third, h))
        mean_slope = jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, first, second, third, fourth)
        moments = move(moments, mean_slope, h)
    mean, covariance = moments
    return mean, covariance + 1e-9 * jnp.trace(covariance) * jnp.eye(3)  # so that it is invertible in float64


def fit_double_well(data: Trajectories, spacing: float = 6.5) -> DoubleWell:
    """Fits confinement, noise, rate and jump scale by the exact transition density of steps of one length.

    Along the axis the density comes from a quadrature on a grid (``CubicWell``), interpolated between its points;
    across it is Gaussian. The grid has ``spacing`` points per standard deviation of the noise of one step.
    """
    seen = data.transitions()
    step = seen.regular_step()
    if step is None:
        raise InputError("expected one common step: the density on a grid is for one step")
    start = _double_well_start(seen, step)
    # The grid is for the noise at the start, so that the objective has no steps in it.
    reach = max(np.abs(seen.x[:, 0]).max(), np.abs(seen.y[:, 0]).max()) + 3 * start.jump_scale
    points = int(np.ceil(reach * spacing / (start.noise * np.sqrt(step))))
    grid = np.linspace(-reach, reach, 2 * points + 1)

    def minus_log_likelihood(parameters: Float[np.ndarray, " 4"]) -> float:
        system = DoubleWell(*np.exp(parameters).tolist(), dimension=data.dimension)
        well = CubicWell(system.noise, system.rate, system.jump_scale)
        with np.errstate(divide="ignore"):
            log_density = np.maximum(np.log(well.density_on(grid, step)), -500.0)  # of density 0
        along = RectBivariateSpline(grid, grid, log_density)(seen.x[:, 0], seen.y[:, 0], grid=False)
        decay, variance = _across(system, step)
        gap = seen.y[:, 1:] - decay * seen.x[:, 1:]
        across = -np.sum(gap**2 / variance + np.log(2 * np.pi * variance), axis=1) / 2
        return -float(np.mean(along + across))

    begin = np.log([start.confinement, start.noise, start.rate, start.jump_scale])
    found = minimize(minus_log_likelihood, begin, method="L-BFGS-B", options={"ftol": 1e-10, "eps": 1e-5})
    return DoubleWell(*np.exp(found.x).tolist(), dimension=data.dimension)


def _across(system: DoubleWell, step: float) -> tuple[float, float]:
    c = system.confinement
    return float(np.exp(-c * step)), float(-(system.noise**2) * np.expm1(-2 * c * step) / (2 * c))


def _double_well_start(seen: Transitions, step: float, outlier: float = 4.0) -> DoubleWell:
    """Exact across the axis; along it, motions beyond ``outlier`` standard deviations are the jumps."""
    x, y = seen.x[:, 1:].ravel(), seen.y[:, 1:].ravel()
    slope = np.clip((x @ y) / (x @ x), 0.01, 0.999)
    confinement = -np.log(slope) / step
    noise = np.sqrt(np.mean((y - slope * x) ** 2) * 2 * confinement / -np.expm1(-2 * confinement * step))
    axis = seen.x[:, 0]
    left = seen.displacement[:, 0] - step * axis * (1 - axis**2)
    jumped = np.abs(left) > outlier * noise * np.sqrt(step)
    size = np.sqrt(np.mean(left[jumped] ** 2)) if jumped.any() else 1.0
    return DoubleWell(float(confinement), float(noise), max(float(jumped.mean()) / step, 0.01), float(size))
