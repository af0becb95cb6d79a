"""One cell of the benchmark: a method on a system with a seed, from the data to its figures."""

import math
import platform
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from importlib.metadata import version
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from nke.bench.capping import CapReachedError, capped
from nke.bench.methods import METHODS, ORACLE, Fitted, KnownSystem, fit_method
from nke.bench.protocol import Case, Data, Protocol, Stream, cases, common_times, simulate
from nke.bench.true_score import true_log_prob
from nke.data import Trajectories
from nke.evaluation import PathMetrics, jump_law_distance, path_metrics, relative_error
from nke.systems import System


class Status(StrEnum):
    """How a cell ended."""

    DONE = "done"
    DIVERGED = "diverged"
    CAPPED = "capped"
    FAILED = "failed"


class Task(NamedTuple):
    """One cell that is to be run."""

    system: str
    method: str
    seed: int
    protocol: Protocol
    keep_paths: bool = False

    @property
    def configuration(self) -> dict[str, Any]:
        """All that decides the figures; a result counts for this run only if it is the same."""
        case = cases()[self.system]
        settings = METHODS[self.method].settings(self.protocol, case)
        return {**vars(self.protocol), "settings": settings, "truth": repr(case.system)}


class Outcome(NamedTuple):
    """What is kept of a cell: its line of the results file and, where asked for, some paths for the figures."""

    record: dict[str, Any]
    paths: Float[np.ndarray, "m t d"] | None


def run_task(task: Task) -> Outcome:
    """Runs a cell and never raises: what went wrong is in the record."""
    case, began = cases()[task.system], time.time()
    record: dict[str, Any] = {"system": task.system, "method": task.method, "seed": task.seed}
    record |= {"configuration": task.configuration, "versions": versions()}
    paths = None
    try:
        with warnings.catch_warnings(), nullcontext() if task.protocol.steps else nothing_compiled_before():
            warnings.simplefilter("ignore")  # what they say is measured
            data = simulate(case, task.protocol, task.seed)
            figures, paths = (_oracle if task.method == ORACLE else _method)(task, case, data)
        record |= figures
    except CapReachedError as error:
        record |= {"status": Status.CAPPED, "error": str(error)}
    except FloatingPointError as error:
        record |= {"status": Status.DIVERGED, "error": str(error)}
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        record |= {"status": Status.FAILED, "error": words, "trace": traceback.format_exc()}
    record |= {"began": began, "seconds": time.time() - began}
    return Outcome(plain(record), paths[:256] if paths is not None and task.keep_paths else None)


@contextmanager
def nothing_compiled_before() -> Iterator[None]:
    """Compilation is timed, so nothing is taken from a cache on disk or from an earlier cell of the same process."""
    cached = jax.config.values["jax_enable_compilation_cache"]
    jax.config.update("jax_enable_compilation_cache", False)
    jax.clear_caches()
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", cached)


def _oracle(task: Task, case: Case, data: Data) -> tuple[dict[str, Any], np.ndarray]:
    """The true system simulated afresh from the start states of the test sets, many times."""
    metrics: dict[str, float] = {}
    spread: dict[str, float] = {}
    counts = task.protocol.replicates, task.protocol.large_replicates
    noises = Stream.REPLICATE, Stream.LARGE_REPLICATE
    for (prefix, test), count, stream in zip(_tests(data), counts, noises, strict=True):
        rows = []
        for i in range(count):
            again = case.system.simulate_states(
                len(test), stream.seed(task.seed, replicate=i), common_times(test), test.initial
            )
            rows.append(_compare(again, test, data, case))
        metrics |= _over(rows, prefix, np.mean)
        spread |= _over(rows, prefix, lambda values: np.std(values, ddof=1))
        itself = _compare(np.asarray(test.states), test, data, case)
        metrics |= {f"{prefix}test_{name}": itself[name] for name in case.statistics if name in itself}
        metrics[f"{prefix}test_kurtosis"] = itself["increment_kurtosis"]
    metrics["score"] = _if_defined(lambda: float(np.mean(true_log_prob(case.system, data.scored))))
    return {"status": Status.DONE, "metrics": metrics, "spread": spread}, np.asarray(data.test.states)


def _method(task: Task, case: Case, data: Data) -> tuple[dict[str, Any], np.ndarray | None]:
    method, protocol = METHODS[task.method], task.protocol
    fitted = capped(lambda: fit_method(method, case, data, protocol, task.seed), protocol.cap)
    figures: dict[str, Any] = {
        "times": {"total": fitted.seconds, "compilation": fitted.compilation, "processor": fitted.processor},
        "decided": fitted.decisions,
    }
    metrics = coefficient_errors(fitted, case, data.test) | {"score": _score(fitted, data)}
    lost, paths = {}, None
    for (prefix, test), draws in zip(_tests(data), (protocol.draws, protocol.large_draws), strict=True):
        rows, finite = [], []
        for i in range(draws):
            seed = Stream.DRAW.seed(task.seed, replicate=i)
            generated = np.asarray(fitted.model.sample(test.initial, common_times(test), seed=seed))
            paths = generated if paths is None else paths
            finite.append(np.isfinite(generated).all(axis=(1, 2)))
            rows.append(_compare(generated, test, data, case))
        lost[f"{prefix}lost"] = float(1 - np.mean(finite))
        metrics |= _over(rows, prefix, np.mean)
    diverged = any(not math.isfinite(metrics[name]) for name in ("mean_mse", "large_mean_mse"))
    status = Status.DIVERGED if diverged else Status.DONE
    return figures | {"status": status, "metrics": metrics, "lost_paths": lost}, paths


def _tests(data: Data) -> list[tuple[str, Trajectories]]:
    """Both test sets, each with the prefix of its metrics."""
    return [("", data.test), ("large_", data.large)]


def _compare(generated: Float[np.ndarray, "m t d"], test: Trajectories, data: Data, case: Case) -> dict[str, float]:
    if not np.isfinite(generated).all():
        return dict.fromkeys((*PathMetrics._fields, *case.statistics), math.nan)
    scale, reference = data.coordinates.scale, np.asarray(test.states)
    with np.errstate(all="ignore"):  # a diverging ensemble may overflow; its metrics say so
        found = path_metrics(generated / scale, reference=reference / scale)._asdict()
        if case.path_statistics is not None:
            found |= case.path_statistics(generated, reference, common_times(test))
        return found


def _over(rows: list[dict[str, float]], prefix: str, summary: Callable[[list[float]], Any]) -> dict[str, float]:
    """Summarises each metric over the ensembles."""
    return {prefix + name: float(summary([row[name] for row in rows])) for name in rows[0]}


def _score(fitted: Fitted, data: Data) -> float:
    """Mean log density of unseen transitions; NaN where the model has none."""
    part = data.scored
    if isinstance(fitted.model, KnownSystem):
        return float(np.mean(true_log_prob(fitted.model.system, part)))
    return _if_defined(lambda: float(np.mean(fitted.model.log_prob(part.y, given=part.x, step=part.step))))


def coefficient_errors(
    fitted: Fitted, case: Case, test: Trajectories, most_states: int = 20_000, most_laws: int = 200
) -> dict[str, float]:
    """Computes relative errors over unseen states, in L2 and in the median.

    Args:
        fitted: The model; where it lacks a coefficient the error is NaN.
        case: The system with the true coefficients.
        test: Trajectories whose states the coefficients are compared at.
        most_states: Number of states at most.
        most_laws: Number of states at most at which laws of a jump are compared.

    Returns:
        The errors by the names of their columns.
    """
    truth = case.system
    model = fitted.model.system if isinstance(fitted.model, KnownSystem) else fitted.model
    states = np.asarray(test.states).reshape(-1, truth.dimension)
    states = states[:: -(-len(states) // most_states)]
    names = ["drift", "diffusion", *(["jump_rate"] if truth.has_jumps else [])]
    errors: dict[str, float] = {}
    for name in names:
        true = np.asarray(getattr(truth, name)(states))
        found = _if_defined(lambda: relative_error(np.asarray(getattr(model, name)(states)), true=true))  # noqa: B023
        relative, median = found if isinstance(found, tuple) else (math.nan, math.nan)
        errors |= {f"{name}_error": relative, f"{name}_median_error": median}
    if case.law_statistics is not None:
        errors |= _if_defined(lambda: case.law_statistics(model, states), {})  # pyright: ignore[reportOptionalCall]
    elif truth.has_jumps:
        some = states[:: len(states) // most_laws + 1]
        errors["jump_law_error"] = _if_defined(lambda: _law_error(model, truth, some))
    return errors


def _law_error(model: Any, truth: System, states: Float[np.ndarray, "n d"]) -> float:
    """W1 between the laws of a jump, summed over coordinates, over the root mean square size of a true jump."""
    law = truth.jump_law(states)
    size = np.sqrt(np.trace(law.covariance, axis1=-2, axis2=-1) + np.sum(law.mean**2, axis=-1))
    return float(np.mean(jump_law_distance(model.jump_law(states), law).sum(axis=-1) / size))


def _if_defined(figure: Callable[[], Any], otherwise: Any = math.nan) -> Any:
    """``otherwise`` where a model lacks the method or says that it has no such thing."""
    try:
        return figure()
    except (AttributeError, NotImplementedError, ValueError):
        return otherwise


def versions() -> dict[str, str]:
    """Tells the versions that the figures depend on."""
    packages = ("nke", "jax", "equinox", "optax", "numpy", "scipy")
    return {"python": platform.python_version(), "machine": platform.machine()} | {p: version(p) for p in packages}


def plain(value: Any) -> Any:
    """Makes a value fit for JSON, which has no NaN: None stands for it."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value
