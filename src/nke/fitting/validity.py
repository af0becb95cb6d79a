"""Is the data fine enough for what was learned? Step and jumps in numbers, and warnings where it is not."""

import jax
import numpy as np
from jaxtyping import Array, Float

from nke.arrays import compiled
from nke.data import Transitions
from nke.fitting.batches import float32
from nke.fitting.decisions import Decision
from nke.fitting.rules import SelectionRules
from nke.model import Model
from nke.model.batched import step_changes
from nke.operators import Generator


def step_decision(model: Model, part: Transitions, rules: SelectionRules) -> Decision:
    """Decides whether the step is short enough, by how much the learned drift changes over it.

    A drift that changes in a straight line along the way is followed by the discrete model, however much; unless the
    state has forgotten where it came from. Where the drift turns otherwise, what is learned is an average over the
    step, and what it misses looks like noise.

    Args:
        model: The law.
        part: Held-out transitions.
        rules: What is too coarse.

    Returns:
        The decision, with a warning where the step is too coarse that says in which states.
    """
    to = model.coordinates
    found = step_changes(model.generator, float32(to.to(part.x)), float32(to.step_to(part.step)))
    by_drift, missed = (np.asarray(each) for each in found)
    turned = (by_drift > rules.most_drift_change) & (missed > rules.most_missed)
    change, share, answer, warning = float(np.median(by_drift)), float(turned.mean()), "yes", ""
    if change > rules.coarse_step:
        answer = "no"
        warning = (
            f"the step of the data is too coarse: over one step the drift typically changes by {change:.0%}, so that "
            "the state hardly remembers where it came from; record with a shorter one"
        )
    elif share > rules.coarse_share:
        places = _range_of(model.names, part.x[turned])
        answer = f"not everywhere: too coarse at {places}"
        warning = (
            f"the step of the data is too coarse in {share:.1%} of the transitions, those from {places}: there the "
            "drift turns by more than its own size within one step, so that drift and noise are averages over it and "
            "not to be trusted; record with a shorter step"
        )
    return Decision(
        "Is the step of the data short enough?",
        answer,
        {
            "step": model.step,
            "median relative change of the drift over a step": change,
            "share of transitions over which it turns by more than its own size": share,
        },
        f"yes while the drift typically changes by no more than {rules.coarse_step:.0%} over a step, and in no more "
        f"than {rules.coarse_share:.0%} of the transitions by more than {rules.most_drift_change:.0%} with a turn that "
        f"adds more than {rules.most_missed:.0%} to the motion",
        "step",
        warning,
    )


def noise_decision(model: Model, part: Transitions, rules: SelectionRules) -> Decision:
    """Decides whether noise that depends on the state is plausible: not where it is huge in few states.

    What a drift misses in states that the data hardly shows looks like noise there.

    Args:
        model: The law.
        part: All transitions: single ones that were trained on may be absorbed by enormous noise.
        rules: How much larger than typical the noise of few states may be.

    Returns:
        The decision, with a warning that names these states.
    """
    variance = np.diagonal(np.asarray(model.diffusion(part.x)), axis1=-2, axis2=-1)
    times = (variance / np.maximum(np.median(variance, axis=0), np.finfo(float).tiny)).max(axis=1)
    huge = times > rules.most_noise
    share, answer, warning = float(huge.mean()), "yes", ""
    if 0 < share < rules.coarse_share:
        places = _range_of(model.names, part.x[huge])
        answer = f"not everywhere: doubtful at {places}"
        warning = (
            f"the variance of the noise is up to {times.max():.2g} times its median in {share:.1%} of the transitions, "
            f"those from {places}: the data hardly shows these states, and what the drift misses there may pass for "
            "noise; record more of them or with a shorter step, or fit with noise='constant'"
        )
    return Decision(
        "Is the noise plausible in all states?",
        answer,
        {"largest variance over its median": float(times.max()), f"share above {rules.most_noise:g}": share},
        f"yes unless less than {rules.coarse_share:.0%} of the transitions have more than {rules.most_noise:g}",
        "noise range",
        warning,
    )


@compiled
def _sizes_over_noise(generator: Generator, x: Float[Array, "t d"]) -> Float[Array, "t k"]:
    return jax.vmap(lambda x: generator.jump_network.size_over_noise(generator.visible(x)))(x)


def _range_of(names: tuple[str, ...], x: Float[np.ndarray, "n d"]) -> str:
    """Where most of some states lie, coordinate by coordinate."""
    low, high = np.quantile(x, [0.1, 0.9], axis=0)
    return ", ".join(f"{name} {a:.3g} to {b:.3g}" for name, a, b in zip(names, low, high, strict=True))


def jump_decisions(model: Model, part: Transitions, rules: SelectionRules) -> list[Decision]:
    """Decides whether single jumps can be told apart, and from noise.

    Args:
        model: A law with jumps.
        part: Held-out transitions.
        rules: How many jumps are too many, and how small they may be.

    Returns:
        Decisions on rate and law of the jumps, with warnings where these cannot be trusted.
    """
    rate = model.jump_rate(part.x)
    low, middle, high = (float(q) for q in np.quantile(rate, [0.05, 0.5, 0.95]))
    expected = float((rate * part.step).mean())
    network, states = model.generator.jump_network, float32(model.coordinates.to(part.x))
    size = np.sqrt(np.mean(np.asarray(_sizes_over_noise(model.generator, states)) ** 2, axis=0))
    many, small = "", ""
    if expected > rules.many_jumps:
        many = (
            f"{expected:.2g} jumps are expected per step of the data: single jumps cannot be told apart and the law "
            "of one jump is not to be trusted; record with a shorter step"
        )
    if size.min() < rules.small_jumps:
        small = (
            f"jumps of {size.min():.2g} times the noise of one step were found: jumps so small cannot be told from "
            "diffusion, so their rate and size are not to be trusted; record with a shorter step, or fit with "
            "jumps=False"
        )
    shapes = "depending on the state" if network.state_dependent_shapes else "the same in every state"
    return [
        Decision(
            "How often does it jump?",
            f"{middle:.3g} times per unit time",
            {"rate at 5 % of the states": low, "rate at 95 % of the states": high, "jumps per step": expected},
            f"single jumps can be told apart up to {rules.many_jumps:g} per step",
            "jump rate",
            many,
        ),
        Decision(
            "What is the law of one jump?",
            f"{network.components} Gaussian{'s' if network.components > 1 else ''}, shapes {shapes}",
            {f"size of component {k + 1} over the noise of a step": float(s) for k, s in enumerate(size)},
            f"jumps can be told from noise from a size of {rules.small_jumps:g} on",
            "jump law",
            small,
        ),
    ]
