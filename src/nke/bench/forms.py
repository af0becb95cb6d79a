"""Two forms of the likelihood: the forward packet, and the trapezoidal change of variables that it was chosen over.

The trapezoid's r = y − x − s/2·(f(x) + f(y)) is scored under H^s(x̃) * N(0, s·a(x̃)), x̃ = x + s/2·f(x), times
|det(I − s/2·Df(y))|. It is a density only where y ↦ y − s/2·f(y) is injective.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from nke.bench.recovery import coefficient_errors
from nke.bench.tables import console, print_rows
from nke.fitting import Likelihood, fit
from nke.fitting.beginning import Form
from nke.fitting.likelihood import Steps
from nke.fitting.loop import Loss
from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.operators import Generator
from nke.systems import DoubleWell

SEEDS = (5, 6)


def trapezoid_log_density(
    generator: Generator, x: Float[Array, " d"], moved: Float[Array, " d"], step: Float[Array, ""]
) -> Float[Array, ""]:
    drift = generator.advection.drift
    f0 = drift(x)
    middle = x + step / 2 * f0
    noise = jnp.sqrt(step) * generator.diffusion.factor(middle)
    law = GaussianMixture(jnp.ones_like(x[:1]), jnp.zeros_like(x)[None], (noise @ noise.T)[None])
    if generator.jump is not None:
        law = law.convolve(generator.jump.displacement(middle, step))
    residual = moved - step / 2 * (f0 + drift(x + moved))
    stretch = jnp.eye(len(x)) - step / 2 * jax.jacfwd(drift)(x + moved)
    return law.log_prob(residual) + jnp.linalg.slogdet(stretch)[1]


class TrapezoidLoss(eqx.Module):
    def __call__(self, generator: Generator, data: Steps, i: Int[Array, ""]) -> Float[Array, ""]:
        return -trapezoid_log_density(generator, data.x[i], data.displacement[i], data.step[i])


@dataclass(frozen=True)
class Trapezoid(Likelihood):
    def loss(self, form: Form) -> Loss:
        return TrapezoidLoss()


FORMS = {"forward packet": Likelihood(noise="plain"), "trapezoid": Trapezoid(noise="plain")}


def log_prob(form: str, model: Model, y: np.ndarray, x: np.ndarray, step: np.ndarray) -> np.ndarray:
    if form == "forward packet":
        return model.log_prob(y, x, step)
    to = model.coordinates
    arrays = to.to(x), to.displacement_to(y - x), to.step_to(step)
    score = jax.jit(jax.vmap(lambda x, moved, s: trapezoid_log_density(model.generator, x, moved, s)))
    return to.log_density_back(np.asarray(score(*(jnp.asarray(a, jnp.float32) for a in arrays)), np.float64))


def main() -> None:
    """Errors on the paper's double well; then mass and score where little, coarse data leaves room to cheat."""
    for form, method in FORMS.items():
        rows = []
        for seed in SEEDS:
            data, test = DoubleWell().simulate(1024, seed), DoubleWell().simulate(256, seed + 1000)
            result = fit(data, method, jumps=True, seed=seed)
            seen = test.transitions()
            row = coefficient_errors(result.model, DoubleWell(), test)
            row["score"] = float(log_prob(form, result.model, seen.y, seen.x, seen.step).mean())
            rows.append(row | {"seconds": result.timings["total"]})
        print_rows(f"double well, 1024 trajectories, s = 0.05: {form}", rows)
    for step in (0.05, 0.5):
        for trajectories in (16, 256):
            for form in FORMS:
                console.print(_little_data(form, trajectories, step))


def _little_data(form: str, trajectories: int, step: float) -> str:
    """1-D double well: ∫p(y | x) dy for x on and off the data, and the score beside the true law's."""
    system = DoubleWell(dimension=1, rate=0.0)
    data, test = (system.simulate(n, n, times=step * np.arange(101)) for n in (trajectories, 255))
    model = fit(data, FORMS[form], jumps=False, seed=0).model
    seen = test.transitions()
    gain = log_prob(form, model, seen.y, seen.x, seen.step) - system.log_prob(seen.y, seen.x, seen.step)
    grid = np.linspace(-12, 12, 24001)[:, None]
    masses = {}
    for where, points in {"on": np.linspace(-1.2, 1.2, 9), "off": np.linspace(-3, 3, 9)}.items():
        density = [np.exp(log_prob(form, model, grid, np.full_like(grid, x), np.full(len(grid), step))) for x in points]
        masses[where] = np.trapezoid(np.array(density), grid[:, 0], axis=1)
    ranges = ", ".join(f"{where} the data {mass.min():.3f} … {mass.max():.3f}" for where, mass in masses.items())
    return (
        f"1-D double well, {trajectories} × 100 transitions, s = {step:g}, {form}: ∫p {ranges}; held-out score minus "
        f"the true law's {gain.mean():+.4f} ± {gain.std() / np.sqrt(len(gain)):.4f}"
    )
