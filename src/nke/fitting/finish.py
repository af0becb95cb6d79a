"""From a law to the result: unused jump components are dropped, step and jumps checked, the score taken."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nke.arrays import compiled
from nke.data import Coordinates, Trajectories, Transitions
from nke.fitting.batches import float32, some_transitions
from nke.fitting.candidate import LawFit, Problem
from nke.fitting.decisions import Estimate
from nke.fitting.law_uncertainty import selected, shortened
from nke.fitting.result import FitResult
from nke.fitting.validity import jump_decisions, noise_decision, step_decision
from nke.model import Model
from nke.operators import Generator


def finish(
    law: LawFit, problem: Problem, data: Trajectories, coordinates: Coordinates, step: float, unseen: Transitions
) -> FitResult:
    """Makes a result of the law that a search found.

    Args:
        law: The law.
        problem: What it was fitted to.
        data: Whose names and units are used.
        coordinates: Those of training.
        step: Typical step of the data.
        unseen: Held-out transitions.

    Returns:
        Model, history, equation, form and score; decisions on step and jumps.
    """
    rules, generator, kept = problem.rules, law.generator, None
    if generator.jump is not None:
        kept = _used_components(generator, float32(problem.initial.sample.x), rules.least_component_share)
    every = data.transitions()
    with problem.trainer.clock("intervals"):
        uncertainty = law.uncertainty(problem, every, coordinates)
    if kept is not None:
        prune = lambda g: eqx.tree_at(lambda g: g.jump_network, g, g.jump_network.prune(kept))  # noqa: E731
        uncertainty = uncertainty and selected(uncertainty, generator, prune)
        generator = prune(generator)
    rule = problem.transition_rule(law.form)
    uncertainty = uncertainty and shortened(uncertainty, generator, problem.initial.sample.states)
    model = Model(generator, coordinates, step, data.names, data.units, rule, uncertainty=uncertainty)
    equation = law.equation(data, coordinates)
    every = some_transitions(every, rules.averaged_transitions, problem.initial.seed)
    noise = [noise_decision(model, every, rules)] if law.form.noise == "plain" else []
    jumps = jump_decisions(model, unseen, rules) if model.has_jumps else []
    return FitResult(
        model,
        problem.trainer.history,
        {},
        (*noise, *jumps, step_decision(model, unseen, rules)),
        equation if equation is None or kept is None else equation.with_jump_components(kept),
        law.form,
        _known_score(law, model, problem) if kept is None else _score(model, unseen),
        rules,
        law.posterior,
    )


def _used_components(generator: Generator, x: Float[Array, "t d"], least: float) -> list[int] | None:
    """The components of the jump law with at least such a mean share of the jumps; None if these are all."""
    network = generator.jump_network
    share = np.asarray(_mean_shares(network, x))
    keep = [k for k in range(network.components) if share[k] > least]
    return None if len(keep) == network.components else keep


@compiled
def _mean_shares(network: Any, x: Float[Array, "t d"]) -> Float[Array, " k"]:
    return jnp.mean(jax.vmap(lambda x: network(x)[1].weights)(x), axis=0)


def _known_score(law: LawFit, model: Model, problem: Problem) -> Estimate:
    """Mean log density of the held-out transitions in the units of the model, from losses that are known."""
    mean, error = Estimate.of(-np.asarray(problem.data.held_out.evaluated()[1]) * law.losses)
    return Estimate(float(model.coordinates.log_density_back(mean, model.generator.free(model.dimension))), error)


def _score(model: Model, part: Transitions) -> Estimate:
    return Estimate.of(model.log_prob(part.y, given=part.x, step=part.step))
