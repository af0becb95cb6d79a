"""Everything that a report shows, computed once: the page and the Markdown folder are made of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.errors import DivergenceError, InputError
from nke.evaluation import Diagnosis, Evaluation, Motions, NormalScores, evaluate, simulate_like
from nke.evaluation.checks import block, some_paths
from nke.evaluation.diagnosis import MOST_TRANSITIONS, some_transitions
from nke.evaluation.ensemble import EnsembleMetrics
from nke.evaluation.normal_scores import moving
from nke.files import recorded
from nke.fitting import FitResult
from nke.model import Model, as_model
from nke.plots.numbers import MOST_TIMES, Calibration, LongRun, increments, simulated_paths
from nke.plots.view import View, require_same_coordinates
from nke.progress import Progress
from nke.reporting.fan import Fan
from nke.reporting.scores import MOST_PATHS, Score, chance_distances, compared_scores

PATHS, LEAST_ROWS = 20, 20  # paths shown, and rows of a path from which on its long run is looked at


@dataclass(frozen=True, eq=False)
class Contents:
    """A law, the data, and what was computed of both.

    Attributes:
        model: The law.
        result: How it was found; None for a model without its fit.
        data: Recorded trajectories.
        seed: Of everything that is simulated.
        evaluation: Score and diagnosis in this data.
        scores: This law beside others.
        chance: Distances between simulated ensembles; None where paths cannot be compared.
        view: The states to show.
        motions: Recorded motions and what the law expects of them.
        recorded: The recorded trajectories that simulated ones stand beside.
        simulated: From the same starts over the same times.
        paths: The first few of these; if there are very few, several times.
        increments: Recorded and drawn ones.
        long_run: Simulated data sets; None where no path is long enough.
        calibration: Of each coordinate that is scored.
        fan: A forecast; None where there is none.
        notes: What could not be shown, and why.
    """

    model: Model
    result: FitResult | None
    data: Trajectories
    seed: int
    evaluation: Evaluation
    scores: list[Score]
    chance: EnsembleMetrics | None
    view: View
    motions: Motions
    recorded: Trajectories
    simulated: Trajectories
    paths: list[Trajectories]
    increments: tuple[Float[np.ndarray, "t d"], Float[np.ndarray, "t d"]]
    long_run: LongRun | None
    calibration: list[Calibration]
    fan: Fan | None
    notes: tuple[str, ...]

    @property
    def diagnosis(self) -> Diagnosis:
        """What speaks against the law in this data."""
        return self.evaluation.diagnosis

    @classmethod
    def of(cls, law: Any, data: Any, beside: Mapping[str, Any], seed: int, progress: Progress) -> "Contents":
        """Computes everything.

        Args:
            law: A model, or the result of a fit.
            data: Recorded trajectories, or a frame or path of them.
            beside: Other models of the same coordinates, by name.
            seed: Of everything that is simulated.
            progress: The progress bar.

        Returns:
            The contents.

        Raises:
            InputError: If the data has another number of coordinates than the model.
        """
        model, data = as_model(law), recorded(data)
        require_same_coordinates(model, data)
        others = {name: as_model(other) for name, other in beside.items()}
        for other in others.values():
            require_same_coordinates(other, data)
        advance = progress("comparing", 6)
        evaluation = evaluate(model, data, seed)
        advance(1)
        scores = compared_scores(model, data, others, seed)
        chance = chance_distances(model, data, seed)
        advance(1)
        many = data.select(slice(MOST_PATHS))
        simulated = simulate_like(model, many, seed, most_times=MOST_TIMES)
        paths = simulated_paths(model, data.select(slice(PATHS)), seed, simulated.select(slice(PATHS)))
        advance(1)
        long_run = LongRun.of(model, data, seed) if some_paths(data) is not None else None
        advance(1)
        fan, notes = _fan(model, data)
        advance(1)
        found = cls(
            model, law if isinstance(law, FitResult) else None, data, seed, evaluation, scores, chance,
            View.of(model, data), Motions.of(model, data), many, simulated, paths, increments(model, data, seed),
            long_run, _calibration(model, data, seed), fan, notes,
        )  # fmt: skip
        advance(1)
        return found


def _fan(model: Model, data: Trajectories) -> tuple[Fan | None, tuple[str, ...]]:
    try:
        fan = Fan.of(model, data)
    except (DivergenceError, InputError) as error:
        return None, (f"There is no forecast: {error}.",)
    return fan, tuple(f"{words[:1].upper()}{words[1:]}." for words in fan.warnings)


def _calibration(model: Model, data: Trajectories, seed: int) -> list[Calibration]:
    if not moving(model, data.transitions()):
        return []
    some = some_transitions(data.transitions(), MOST_TRANSITIONS)
    return Calibration.of(NormalScores.of(model, some, seed, block(some_paths(data))))
