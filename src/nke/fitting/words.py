"""What a fit found, in words; and warnings where it is not to be trusted."""

import warnings
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float

from nke.data import Coordinates, Trajectories, Transitions
from nke.fitting.beginning import Beginning, float32
from nke.fitting.few_parameters import FewParameters, from_zero
from nke.fitting.start import RESOLUTION
from nke.model import Model
from nke.model.batched import relative_changes
from nke.operators import PoissonJump

COARSE = 0.35  # change of the drift over one step above which the step is called too coarse
MANY_JUMPS = 0.5  # expected jumps per step above which single jumps can no longer be told apart
SMALL_JUMPS = 1.5  # size of a jump over the noise of a step below which it cannot be told from diffusion


def warn_of_jumps(words: str) -> None:
    warnings.warn(
        f"jumps=False, but there seem to be jumps ({words}): they will pass for noise; fit with jumps=None or True",
        UserWarning,
        stacklevel=2,
    )


def drift_in_words(
    data: Trajectories, coordinates: Coordinates, law: FewParameters, information: Float[np.ndarray, "p p"]
) -> str:
    """The learned equation in the user's units, each coefficient with its standard error."""
    scale, names, terms = coordinates.scale, data.names, law.drift_terms(information)
    if from_zero(coordinates.to(np.zeros(len(names)))):
        variables = list(names)
    else:
        variables = [f"({n} − {m:.4g})" for n, m in zip(names, coordinates.shift, strict=True)]
    constraint, lines = law.generator.constraint, []
    for i, row in zip(range(len(names)) if constraint is None else constraint.free, terms, strict=True):
        words = []
        for term in row:
            unit = scale[i] / coordinates.time_unit / np.prod(scale[list(term.variables)])
            product = "·".join(variables[j] for j in term.variables)
            words.append(f"{unit * term.coefficient:+.4g} ({unit * term.error:.1g}) {product}".strip())
        lines.append(f"d{names[i]}/dt = {' '.join(words) or '0'}")
    return "; ".join(lines)


def step_in_words(model: Model, part: Transitions) -> str:
    """How much the learned drift changes over a step; warns where that is too much for one."""
    to, key = model.coordinates, jax.random.key(0)
    _, by_drift = relative_changes(model.generator, float32(to.to(part.x)), float32(to.step_to(part.step)), key)
    typical = float(np.median(by_drift))
    if typical > COARSE:
        warnings.warn(
            f"the step of the data is too coarse: over one the drift typically changes by {typical:.0%} of itself, so "
            "what is learned is an average over the step; record with a shorter one",
            UserWarning,
            stacklevel=2,
        )
    return f"{model.step:g}; over one the drift typically changes by {typical:.0%} of itself"


def resolution_in_words(start: Beginning, names: Sequence[str]) -> str:
    still = ", ".join(names[int(i)] for i in start.free[start.noiseless])
    return f"{still} without noise of their own: read to {RESOLUTION:g} of the standard deviation in the density"


def jumps_in_words(model: Model, part: Transitions, shapes: str = "") -> dict[str, str]:
    """Rate and size of the jumps; warns where they cannot be trusted."""
    assert isinstance(model.generator.jump, PoissonJump)
    rate = model.jump_rate(part.x)
    low, middle, high = np.quantile(rate, [0.05, 0.5, 0.95])
    expected = float((rate * part.step).mean())
    if expected > MANY_JUMPS:
        warnings.warn(
            f"{expected:.2g} jumps are expected per step of the data: single jumps cannot be told apart and the law "
            "of one jump is not to be trusted; record with a shorter step",
            UserWarning,
            stacklevel=2,
        )
    network, constraint = model.generator.jump.network, model.generator.constraint
    states = float32(model.coordinates.to(part.x))
    states = states if constraint is None else constraint.seen(states)
    size = np.sqrt(np.mean(np.asarray(jax.vmap(network.size_over_noise)(states)) ** 2, axis=0))
    if size.min() < SMALL_JUMPS:
        warnings.warn(
            f"jumps of {size.min():.2g} times the noise of one step were found: jumps so small cannot be told from "
            "diffusion, so their rate and size are not to be trusted; record with a shorter step, or fit with "
            "jumps=False",
            UserWarning,
            stacklevel=2,
        )
    return {
        "jump rate": f"{middle:.3g} per unit time (5 % to 95 % of the states: {low:.3g} to {high:.3g}), "
        f"{expected:.2g} a step",
        "jump law": f"{network.components} Gaussian{'s' if network.components > 1 else ''}"
        + (", shapes depending on the state" if network.state_dependent_shapes else ", the same shapes in every state")
        + (f": {shapes}" if shapes else ""),
        "jump size": ", ".join(f"{s:.3g}" for s in size) + " times the noise of a step, component by component",
    }
