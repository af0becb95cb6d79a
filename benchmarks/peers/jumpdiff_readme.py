"""jumpdiff's README: dx = −0.5 x dt + 0.75 dW + N(0, 2.5)-jumps at rate 1.75, T = 10⁴, dt = 10⁻³."""

import jumpdiff  # noqa: F401  # pyright: ignore[reportMissingImports] - so that it is missed before the fit, not after

from benchmarks.peers.example import COMPILATION, SECONDS, Example, Measured, Run
from benchmarks.validation.long_path import (
    JUMP_VARIANCE,
    NOISE,
    RATE,
    SLOPE,
    jumpdiff_figures,
    nke_figures,
)

QUANTITIES = ("jump rate", "jump variance", "b²", "slope", SECONDS, COMPILATION)


def measure(run: Run) -> Measured:
    """Measures both on the path of the README."""
    truth = {"jump rate": RATE, "jump variance": JUMP_VARIANCE, "b²": NOISE**2, "slope": SLOPE}
    ours = nke_figures(run.seed)
    return Measured(truth, {name: ours[name] for name in QUANTITIES}, jumpdiff_figures(run.seed))


EXAMPLES = [
    Example(
        "jumpdiff",
        "jump-diffusion of its README, 10⁷ rows",
        measure,
        notes=(
            "nke is told that there are jumps, of one Gaussian, with networks of width 32.",
            "jumpdiff gives rate and variance; b² and slope follow from its moments.",
            "The path is simulated here: the README's own call fails with NumPy 2.4.",
        ),
    )
]
