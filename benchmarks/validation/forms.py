"""Two forms of the likelihood: the forward packet, and the trapezoidal change of variables that it was chosen over.

The trapezoid's r = y − x − s/2·(f(x) + f(y)) is scored under H^s(x̃) * N(0, s·a(x̃)), x̃ = x + s/2·f(x), times
|det(I − s/2·Df(y))|. It is a density only where y ↦ y − s/2·f(y) is injective.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from benchmarks.validation.recovery import coefficient_errors
from benchmarks.validation.tables import console, print_rows
from nke.fitting import Likelihood, fit
from nke.mixtures import GaussianMixture
from nke.operators import ForwardPacket, Generator, TransitionRule
from nke.operators.operator import Step
from nke.systems import DoubleWell

SEEDS = (5, 6)


class Trapezoid(TransitionRule):
    """The trapezoidal change of variables as a rule; it has a density, but no mixture."""

    def packet(self, generator: Generator, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """There is none."""
        raise NotImplementedError("the change of variables has a log density, but is no mixture")

    def log_prob(
        self, generator: Generator, x: Float[Array, " d"], moved: Float[Array, " d"], step: Step
    ) -> Float[Array, ""]:
        """Log density of moving so far, with the Jacobian of the change of variables."""
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


RULES = {"forward packet": ForwardPacket(), "trapezoid": Trapezoid()}
FORMS = {name: Likelihood(networks=True, noise="plain", rule=rule) for name, rule in RULES.items()}


def main() -> None:
    """Errors on the paper's double well; then mass and score where little, coarse data leaves room to cheat."""
    for form, method in FORMS.items():
        rows = []
        for seed in SEEDS:
            data, test = DoubleWell().simulate(1024, seed), DoubleWell().simulate(256, seed + 1000)
            result = fit(data, method, jumps=True, seed=seed)
            seen = test.transitions()
            row = coefficient_errors(result.model, DoubleWell(), test)
            row["score"] = float(result.model.log_prob(seen.y, given=seen.x, step=seen.step).mean())
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
    gain = model.log_prob(seen.y, given=seen.x, step=seen.step) - system.log_prob(seen.y, given=seen.x, step=seen.step)
    grid = np.linspace(-12, 12, 24001)[:, None]
    masses = {}
    for where, points in {"on": np.linspace(-1.2, 1.2, 9), "off": np.linspace(-3, 3, 9)}.items():
        density = [np.exp(model.log_prob(grid, given=np.full_like(grid, x), step=step)) for x in points]
        masses[where] = np.trapezoid(np.array(density), grid[:, 0], axis=1)
    ranges = ", ".join(f"{where} the data {mass.min():.3f} … {mass.max():.3f}" for where, mass in masses.items())
    return (
        f"1-D double well, {trajectories} × 100 transitions, s = {step:g}, {form}: ∫p {ranges}; held-out score minus "
        f"the true law's {gain.mean():+.4f} ± {gain.std() / np.sqrt(len(gain)):.4f}"
    )
