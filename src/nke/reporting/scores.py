"""Scores of a law beside those of textbook laws and of other models on the same data."""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nke.data import Trajectories
from nke.evaluation import ensemble_metrics
from nke.evaluation.checks import gain, textbook_scores
from nke.evaluation.diagnosis import MOST_COMPARED, some_transitions
from nke.evaluation.ensemble import EnsembleMetrics
from nke.evaluation.evaluate import ensemble_times, is_ensemble
from nke.model import Model

REPEATS = 5  # simulated ensembles that are compared with each other
MOST_PATHS = 256  # compared


class Score(NamedTuple):
    """How well a law predicts the recorded transitions, and how near its paths come to the recorded ones.

    Attributes:
        name: Of the law.
        score: Mean log density per transition.
        gain: Over the law of the report; 0 for that law itself.
        error: Standard error of the gain.
        paths: Distances of simulated from recorded paths; None where they cannot be compared.
    """

    name: str
    score: float
    gain: float
    error: float
    paths: EnsembleMetrics | None = None


def compared_scores(model: Model, data: Trajectories, beside: Mapping[str, Model], seed: int) -> list[Score]:
    """Scores the law, other models and textbook laws on the same transitions.

    Args:
        model: The law of the report.
        data: Recorded trajectories.
        beside: Other models of the same coordinates, by name.
        seed: Of simulated paths.

    Returns:
        The scores, that of the law first, the others from the best to the worst.
    """
    seen = some_transitions(data.transitions(), MOST_COMPARED)
    own = model.log_prob(seen.y, given=seen.x, step=seen.step)
    found = []
    for name, other in beside.items():
        scores = other.log_prob(seen.y, given=seen.x, step=seen.step)
        found.append(Score(name, float(scores.mean()), *gain(scores, own), path_distances(other, model, data, seed)))
    for name, scores in textbook_scores(model, seen).items():
        found.append(Score(name, float(scores.mean()), *gain(scores, own)))
    found.sort(key=lambda each: -each.score)
    return [Score("this law", float(own.mean()), 0.0, 0.0, path_distances(model, model, data, seed)), *found]


def path_distances(model: Model, reference: Model, data: Trajectories, seed: int) -> EnsembleMetrics | None:
    """Compares simulated with recorded paths, in units of the scale of the law of the report.

    Args:
        model: That simulates.
        reference: Whose scale is the unit.
        data: Recorded trajectories.
        seed: Of the simulated paths.

    Returns:
        The distances; None where the trajectories are not recorded at the same times without gaps.
    """
    if not is_ensemble(data):
        return None
    states, times = np.asarray(data.states)[:MOST_PATHS], ensemble_times(data)
    drawn = model.sample(states[:, 0], times, seed=seed)
    if not np.isfinite(drawn).all():
        return None
    return ensemble_metrics(drawn / reference.coordinates.size, states / reference.coordinates.size)


def chance_distances(model: Model, data: Trajectories, seed: int) -> EnsembleMetrics | None:
    """Compares simulated ensembles with each other: the distances that chance alone makes if the law is right.

    Args:
        model: The law.
        data: Recorded trajectories, whose start states and times are taken.
        seed: Of the simulated paths.

    Returns:
        The mean over a few pairs; None where paths cannot be compared.
    """
    if not is_ensemble(data):
        return None
    start, times = np.asarray(data.states)[:MOST_PATHS, 0], ensemble_times(data)
    runs = [model.sample(start, times, seed=seed + 1 + k) / model.coordinates.size for k in range(REPEATS + 1)]
    if not all(np.isfinite(run).all() for run in runs):
        return None
    pairs = [ensemble_metrics(one, other) for one, other in pairwise(runs)]
    return EnsembleMetrics(*np.mean(pairs, axis=0).tolist())
