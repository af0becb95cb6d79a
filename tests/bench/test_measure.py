"""One cell: errors of the coefficients, the gas by its physics, and what is recorded when something goes wrong."""

import numpy as np
import pytest

from bench_cells import CHEAP, TINY
from nke.bench import measure, methods, render
from nke.bench.measure import Outcome, Task, run_task
from nke.bench.protocol import cases
from nke.bench.results import Results
from nke.bench.runner import plan, run
from nke.bench.summary import tables
from nke.systems import DoubleWell


def test_errors_of_the_coefficients_are_worked_out_for_a_known_system():
    """The truth has none; a rate of 1.5 is wrong by half, jumps of twice the size by E|N(0, 1)| of their deviation."""
    truth, states = DoubleWell(), DoubleWell(dt=0.05).simulate(8, seed=0)

    def errors(system: DoubleWell) -> dict[str, float]:
        fitted = methods.Fitted(methods.KnownSystem(system), 0.0, 0.0, 0.0, {})
        return measure.coefficient_errors(fitted, cases()["double-well"], states)

    assert max(errors(truth).values()) == pytest.approx(0, abs=1e-12)
    wrong = errors(DoubleWell(rate=1.5, jump_scale=2.0, noise=1.0))
    assert wrong["jump_rate_error"] == wrong["jump_rate_median_error"] == pytest.approx(0.5)
    assert wrong["diffusion_error"] == pytest.approx(3.0)
    assert wrong["jump_law_error"] == pytest.approx(np.sqrt(2 / np.pi), abs=0.02)


def test_the_gas_is_measured_by_its_physics(tmp_path):
    """Its limit against its known figures: γ = D = 1 exactly for the law, within sampling error for the fit."""
    tasks = plan(TINY, 1, ["rarefied-gas"], CHEAP)
    results = run(tasks, tmp_path, jobs=1)
    oracle, limit = (results.of(tasks)["rarefied-gas", method, 0]["metrics"] for method in CHEAP)
    case = cases()["rarefied-gas"]
    assert set(case.statistics) - set(oracle) == {"friction", "diffusivity", "collision_rate"}
    # 16 trajectories of T = 2: a standard error of √(2·1.05/(3·32)) = 0.15 for the friction, of 20 % for the variance.
    assert limit["friction"] == pytest.approx(1.05, abs=0.45)
    assert limit["diffusivity"] * limit["friction"] == pytest.approx(1.1, rel=0.6)
    [table] = [t for t in tables(case, results.of(tasks)) if t.name == "statistics"]
    assert "Langevin, moment-matched" in render.markdown([table])


def test_a_method_that_diverges_or_fails_is_recorded(tmp_path, monkeypatch):
    class Exploding:
        def sample(self, x0, times, seed=0):
            return np.full((len(x0), len(times), x0.shape[1]), np.inf)

    exploded = methods.Fitted(Exploding(), 1.0, 1.0, 0.5, {})
    monkeypatch.setattr(measure, "fit_method", lambda *arguments: exploded)
    task = Task("black-scholes", "moment-matching", 0, TINY)
    record = run_task(task).record
    assert record["status"] == "diverged"
    assert record["metrics"]["mean_mse"] is None
    assert record["lost_paths"] == {"lost": 1.0, "large_lost": 1.0}
    results = Results(tmp_path)
    results.add(Outcome(record, None))
    assert results.missing([task]) == []
    [paper, *_] = tables(cases()["black-scholes"], results.of([task]))
    assert "Kolmogorov, moments: diverged with seed 0" in paper.notes

    def broken(*arguments):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(measure, "fit_method", broken)
    record = run_task(task).record
    assert (record["status"], record["error"]) == ("failed", "RuntimeError: out of memory")
    results.add(Outcome(record, None))
    assert results.missing([task]) == [task]
