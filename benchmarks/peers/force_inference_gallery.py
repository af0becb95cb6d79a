"""StochasticForceInference's gallery: a noisy Lorenz path and a ring trap with anisotropic noise.

Its D is a/2. Its polynomials contain the truth of both examples; networks do not.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from SFI import OverdampedLangevinInference  # pyright: ignore[reportMissingImports] - a peer, not a dependency
from SFI.bases import (  # pyright: ignore[reportMissingImports]
    identity_matrix_basis,
    monomials_up_to,
    symmetric_matrix_basis,
    unit_axes,
    x_components,
)
from SFI.langevin import OverdampedProcess  # pyright: ignore[reportMissingImports]

from benchmarks.peers.example import COMPILATION, SECONDS, Example, Figures, Measured, Run, fit_default
from nke.bench.methods import recorded_decisions
from nke.fitting.compilation import compilation_clock

STEP = 0.005
FORCE, DIFFUSION = "normalised MSE of the force", "normalised MSE of D"


def measure_lorenz(run: Run) -> Measured:
    """(σ, ρ, β) = (20, 8, 2), D = 5, 2000 rows; quadratic basis, its terms selected by PASTIS."""
    x, y, z = x_components(3)
    ex, ey, ez = unit_axes(3)
    force = 20.0 * (y - x) * ex + (x * (8.0 - z) - y) * ey + (x * y - 2.0 * z) * ez
    process = OverdampedProcess(force, D=5.0 * jnp.eye(3), theta_F=jnp.ones(force.n_features))
    process.initialize(jnp.ones(3))
    _, key = jax.random.split(jax.random.PRNGKey(run.seed))
    data = process.simulate(dt=STEP, Nsteps=2000, key=key, prerun=2000, oversampling=10)

    def infer(inference: Any) -> None:
        inference.compute_diffusion_constant(method="auto")
        inference.infer_force_linear(monomials_up_to(order=2, dim=3, rank="vector"), M_mode="Ito", G_mode="trapeze")
        inference.compute_force_error()
        inference.sparsify_force(criterion="PASTIS")
        inference.compute_force_error()

    def truth(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y, z = s.T
        drift = np.stack([20 * (y - x), x * (8 - z) - y, x * y - 2 * z], axis=1)
        return drift, np.tile(10 * np.eye(3), (len(s), 1, 1))

    return _side_by_side(data, infer, truth, run.seed)


def measure_trap(run: Run) -> Measured:
    """F = −4 (r² − 1.5²) x, D = 0.2 I + 0.15 x xᵀ, 50,000 rows; cubic and quadratic bases."""
    x, y = x_components(2)
    ex, ey = unit_axes(2)
    xx, xy, yy = (symmetric_matrix_basis(2)[i] for i in range(3))
    force = (-4.0 * (x**2 + y**2 - 1.5**2)) * (x * ex + y * ey)
    noise = 0.2 * identity_matrix_basis(2) + 0.15 * (x**2 * xx + x * y * xy + y**2 * yy)
    process = OverdampedProcess(
        F=force, D=noise, theta_F=jnp.ones(force.n_features), theta_D=jnp.ones(noise.n_features)
    )
    process.initialize(jnp.array([1.5, 0.0]))
    key = jax.random.PRNGKey(11 + run.seed)
    data = process.simulate(dt=STEP, Nsteps=50_000, key=key, prerun=500, oversampling=10)

    def infer(inference: Any) -> None:
        inference.compute_diffusion_constant()
        inference.infer_force_linear(monomials_up_to(order=3, dim=2, rank="vector"))
        inference.compute_force_error()
        inference.infer_diffusion_linear(monomials_up_to(order=2, dim=2, rank="symmetric_matrix"))

    def truth(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        drift = -4 * (np.sum(s**2, axis=1, keepdims=True) - 1.5**2) * s
        return drift, 2 * (0.2 * np.eye(2) + 0.15 * s[:, :, None] * s[:, None])

    return _side_by_side(data, infer, truth, run.seed)


def _side_by_side(
    data: Any, infer: Callable[[Any], None], truth: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], seed: int
) -> Measured:
    states = np.asarray(data.to_arrays(dataset=0)[1], np.float64)[:, 0]
    true = truth(states)
    result, times = fit_default(states, STEP, seed)
    ours = _errors(result.model.drift(states), result.model.diffusion(states), *true)

    clock = time.perf_counter()
    with compilation_clock() as compilation:
        inference = OverdampedLangevinInference(data)
        infer(inference)
    seconds = {SECONDS: time.perf_counter() - clock, COMPILATION: compilation.seconds}
    found = (
        np.asarray(field(jnp.asarray(states))) for field in (inference.force_inferred, inference.diffusion_inferred)
    )
    drift, half = found
    return Measured({}, ours | times, _errors(drift, 2 * half, *true) | seconds, recorded_decisions(result))


def _errors(
    drift: Float[np.ndarray, "n d"],
    diffusion: Float[np.ndarray, "n d d"],
    true_drift: Float[np.ndarray, "n d"],
    true_diffusion: Float[np.ndarray, "n d d"],
) -> Figures:
    """⟨eᵀ A⁻¹ e⟩ over ⟨fᵀ A⁻¹ f⟩ along the path, and ⟨tr (A⁻¹ E)²⟩ over ⟨tr (A⁻¹ a)²⟩; A = ⟨a⟩.

    Its own measure, but with the truth below the line and in A, so that both methods have the same yardstick.
    """
    inverse = np.linalg.inv(true_diffusion.mean(axis=0))

    def size(e: np.ndarray) -> float:
        return float(np.einsum("ni,ij,nj->", e, inverse, e))

    def spread(e: np.ndarray) -> float:
        return float(np.einsum("ij,njk,kl,nli->", inverse, e, inverse, e))

    return {
        FORCE: size(drift - true_drift) / size(true_drift),
        DIFFUSION: spread(diffusion - true_diffusion) / spread(true_diffusion),
    }


CONTAINS = "Its polynomial basis contains the true force"
EXAMPLES = [
    Example(
        "StochasticForceInference",
        "Lorenz path of its gallery, 2000 rows",
        measure_lorenz,
        notes=(f"{CONTAINS} and its D is constant, as the true one.",),
    ),
    Example(
        "StochasticForceInference",
        "ring trap with anisotropic noise of its gallery, 50,000 rows",
        measure_trap,
        notes=(f"{CONTAINS} and the true D.",),
    ),
]
