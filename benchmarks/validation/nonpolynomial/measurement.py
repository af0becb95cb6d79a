"""One experiment with one seed: the fit, its errors, its roll-outs over the floor, and the references."""

import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from benchmarks.validation.nonpolynomial.experiments import DRAW, DRAWS, REPLICATE, REPLICATES, ROLLOUTS, Experiment
from benchmarks.validation.nonpolynomial.regression import tuned_regression
from nke.baselines import EulerMaruyama
from nke.bench.measure import nothing_compiled_before
from nke.data import Trajectories
from nke.evaluation import EnsembleMetrics, ensemble_metrics, recovery, relative_error
from nke.fitting import FitResult, Likelihood, fit
from nke.model import Model
from nke.systems import System

Array = np.ndarray
MOST_LAWS = 200  # states at which the laws of a jump are compared
REFERENCES, TRUTH, PARAMETRIC = "references", "truth", "parametric"
METHODS: Mapping[str, Callable[[], Any]] = {
    "automatic": lambda: None,
    "polynomial": lambda: Likelihood(networks=False),
    "networks": lambda: Likelihood(networks=True),
    "euler-maruyama": EulerMaruyama,
}


class Sizes(NamedTuple):
    """How much is simulated to compare with."""

    rollouts: int = ROLLOUTS
    replicates: int = REPLICATES
    draws: int = DRAWS


class Learned(NamedTuple):
    """A law, and how it was found."""

    law: Model | System
    record: dict[str, Any]  # times, form, decisions and warnings, as they stand in the row

    def sample(self, initial: Float[Array, "m d"], times: Float[Array, " t"], seed: int) -> Float[Array, "m t d"]:
        """Simulates a path from each state."""
        if isinstance(self.law, System):
            return self.law.simulate_states(len(initial), seed, times, initial)
        return np.asarray(self.law.sample(initial, times, seed=seed))


def measure(experiment: Experiment, seed: int, method: str, sizes: Sizes) -> dict[str, Any]:
    """Measures a method on a fresh data set and never raises: what went wrong is in the row.

    Args:
        experiment: The system and its size.
        seed: Of the data and of the fit.
        method: One of ``METHODS``; "truth" for the true law instead of a fit; "parametric" for the true equations
            with a fitted drift; "references" for the references alone.
        sizes: How much is simulated to compare with.

    Returns:
        A row, ready for JSON.
    """
    row: dict[str, Any] = {"system": experiment.name, "seed": seed, "method": method}
    row |= {"trajectories": experiment.trajectories}
    try:
        data, test = experiment.training_set(seed), experiment.test_set(seed, sizes.rollouts)
        if method == REFERENCES:
            return row | references(experiment, data, test)
        learned = _learn(data, experiment, seed, method)
        figures = coefficient_figures(learned.law, experiment, data, test)
        figures |= rollout_figures(learned, experiment, data, test, seed, sizes)
        return row | learned.record | {"figures": figures}
    except Exception as error:
        return row | {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}


def references(experiment: Experiment, data: Trajectories, test: Trajectories) -> dict[str, Any]:
    """Computes the drift errors that the data allows: of regressions tuned by the truth and of the true family."""
    seen, points, truth = data.transitions(), experiment.points(test), experiment.system
    found = {inputs.name: tuned_regression(seen, truth, points, inputs) for inputs in experiment.inputs}
    return {
        "parametric": experiment.family.error(seen, truth, points),
        "regression": {name: regressed._asdict() for name, regressed in found.items()},
    }


def _learn(data: Trajectories, experiment: Experiment, seed: int, method: str) -> Learned:
    if method in (TRUTH, PARAMETRIC):
        truth = experiment.system
        law = truth if method == TRUTH else experiment.family.fitted(data.transitions(), truth)
        return Learned(law, {"wall": 0.0, "processor": 0.0, "form": method, "warnings": []})
    with warnings.catch_warnings(record=True) as raised, nothing_compiled_before():
        warnings.simplefilter("always")
        wall, processor = time.perf_counter(), time.process_time()
        result = fit(data, METHODS[method](), seed=seed, diagnosis=False, progress=False)
        spent = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    return Learned(result.model, spent | _described(result) | {"warnings": _messages(raised)})


def _described(result: FitResult) -> dict[str, Any]:
    return {
        "form": "none chosen" if result.form is None else f"{result.form.drift}; {result.form}",
        "timings": dict(result.timings),
        "decisions": {decision.topic: str(decision) for decision in result.decisions},
    }


def _messages(raised: list[warnings.WarningMessage]) -> list[str]:
    return list(dict.fromkeys(str(warning.message) for warning in raised))


def coefficient_figures(
    law: Model | System, experiment: Experiment, data: Trajectories, test: Trajectories
) -> dict[str, float]:
    """Computes the relative errors of drift, noise and rate.

    "a" and "g" are errors over states (g the symmetric root of a), "mean a" that of a averaged over the data's states,
    for systems whose a is constant.
    """
    truth, points = experiment.system, experiment.points(test)
    found = recovery(law, truth, points)
    figures = {"drift": found.drift.relative, "a": found.diffusion.relative}
    learned, true = (np.asarray(each.diffusion(points)) for each in (law, truth))
    figures["g"] = relative_error(_root(learned), true=_root(true)).relative
    if np.allclose(true, true[0]):
        states = np.asarray(data.states).reshape(-1, truth.dimension)
        states = states[:: -(-len(states) // len(points))]
        figures["mean a"] = relative_error(np.asarray(law.diffusion(states)).mean(axis=0)[None], true=true[:1]).relative
    figures["jumps found"] = float(law.has_jumps)
    if found.jump_rate is not None:
        figures["rate"] = found.jump_rate.relative
        figures |= _jump_figures(law, truth, points)
    return figures


def _root(a: Float[Array, "n d d"]) -> Float[Array, "n d d"]:
    values, vectors = np.linalg.eigh(a)
    return (vectors * np.sqrt(np.maximum(values, 0))[:, None, :]) @ np.swapaxes(vectors, 1, 2)


def _jump_figures(law: Model | System, truth: System, points: Float[Array, "n d"]) -> dict[str, float]:
    """Compares mean rates, counts Gaussians, and tells how much the mean of a jump varies with the state."""
    figures = {"mean rate": float(np.mean(law.jump_rate(points)) / np.mean(truth.jump_rate(points)))}
    if law.has_jumps:
        some = law.jump_law(points[:: len(points) // MOST_LAWS + 1])
        means = np.asarray(some.mean)
        figures["components"] = float(some.components)
        figures["variation of jumps"] = float(np.sqrt(np.sum(means.var(axis=0)) / np.mean(np.sum(means**2, axis=1))))
    return figures


def rollout_figures(
    learned: Learned, experiment: Experiment, data: Trajectories, test: Trajectories, seed: int, sizes: Sizes
) -> dict[str, float]:
    """Compares simulated paths with unseen ones, each metric over its same-start floor.

    The floor is the truth simulated again from the same starts with fresh noise. Metrics are in units of the training
    set's standard deviations, averaged over ensembles, and of the paths that are finite.
    """
    times, start = np.asarray(test.times)[0], np.asarray(test.initial)
    scale = np.asarray(data.states).reshape(-1, experiment.system.dimension).std(axis=0)
    reference = np.asarray(test.states)

    def mean_metrics(ensembles: list[Array]) -> EnsembleMetrics:
        rows = [ensemble_metrics(_finite(paths) / scale, reference / scale) for paths in ensembles]
        return EnsembleMetrics(*np.mean(rows, axis=0).tolist())

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # lost paths are counted
        seeds = [seed + DRAW + 1000 * i for i in range(sizes.draws)]
        drawn = [learned.sample(start, times, one) for one in seeds]
        again = [
            experiment.system.simulate_states(len(start), seed + REPLICATE + 1000 * i, times, start)
            for i in range(sizes.replicates)
        ]
        found, floor = mean_metrics(drawn), mean_metrics(again)
    figures = {f"{name} over floor": value / getattr(floor, name) for name, value in found._asdict().items()}
    figures |= {f"{name} floor": value for name, value in floor._asdict().items()}
    figures["lost"] = float(np.mean([(~np.isfinite(paths)).any(axis=(1, 2)).sum() for paths in drawn]))
    if experiment.positive:
        figures["negative"] = float(np.mean([(paths <= 0).any(axis=(1, 2)).sum() for paths in drawn]))
    return figures


def _finite(paths: Float[Array, "m t d"]) -> Float[Array, "k t d"]:
    return paths[np.isfinite(paths).all(axis=(1, 2))]
