"""The sweep on a tiny budget: resumed, killed, spread over Dask workers; its tables and figures."""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nke.bench import measure, methods, render, runner
from nke.bench.capping import CapReachedError, capped
from nke.bench.cases.rarefied_gas import law_statistics
from nke.bench.measure import Outcome, Task, run_task
from nke.bench.output import write_output
from nke.bench.protocol import QUICK, Protocol, cases
from nke.bench.results import Results
from nke.bench.runner import plan, run
from nke.bench.summary import Cell, tables
from nke.cli.main import app
from nke.systems import DoubleWell, Langevin, RarefiedGas

SIZES = {"train": 16, "test": 8, "large": 12, "replicates": 2, "large_replicates": 2, "draws": 2, "large_draws": 1}
TINY = Protocol(**SIZES, scored=20, cap=200.0, adversarial=1.0, steps=1)
CHEAP = ["oracle", "parametric"]
ROOT = Path(__file__).parents[1]


def accuracy(results: Results) -> dict[tuple, dict]:
    """Everything but times."""
    return {(r["system"], r["method"], r["seed"]): r["metrics"] for r in results.records()}


def test_every_system_and_method_is_planned_once():
    tasks = plan(TINY, 2)
    systems = ["lorenz-0.3", "lorenz-3", "black-scholes", "double-well", "rarefied-gas", "near-brownian-gas"]
    assert list(dict.fromkeys(task.system for task in tasks)) == systems
    assert {task.method for task in tasks} == set(methods.methods())
    assert len({task[:3] for task in tasks}) == len(tasks) == 2 * len(systems) * len(methods.methods())
    with pytest.raises(ValueError, match="expected systems among lorenz"):
        plan(TINY, 1, ["pendulum"])


def test_methods_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(methods.importlib.util, "find_spec", lambda name: None)
    assert list(methods.methods()) == ["oracle", "parametric", "moment-matching", "likelihood"]


def test_a_learned_model_gets_every_figure(tmp_path):
    """Fit, metrics in both protocols, coefficients, score and times; then the report of it."""
    tasks = plan(TINY, 1, ["black-scholes"], ["oracle", "euler-maruyama"])
    results = run(tasks, tmp_path, jobs=1)
    oracle, learned = (results.of(tasks)["black-scholes", method, 0] for method in ("oracle", "euler-maruyama"))
    assert (oracle["status"], learned["status"]) == ("done", "done")
    assert set(learned["metrics"]) > set(oracle["spread"])
    for name in ("drift_error", "diffusion_error", "score", "mean_mse", "large_sliced_wasserstein"):
        assert np.isfinite(learned["metrics"][name])
    times = learned["times"]
    assert 0 < times["compilation"] < times["total"]
    assert times["processor"] > 0
    assert learned["configuration"]["settings"].startswith("EulerMaruyama(")
    assert set(learned["versions"]) > {"python", "jax", "nke"}
    files = write_output(tasks, results)
    endings = ["png", "svg"]
    assert [file.name for file in files[:3]] == ["tables.md", "tables.tex", "tables.csv"]
    assert [file.name for file in files[3:]] == [f"black-scholes.{ending}" for ending in endings]
    assert "Black–Scholes: the paper's protocol" in files[0].read_text()
    assert files[3].read_bytes().startswith(b"\x89PNG")


def test_errors_of_the_coefficients_are_worked_out_for_a_known_system():
    """The truth has none; a rate of 1.5 is wrong by half, jumps of twice the size by E|N(0, 1)| of their deviation."""
    truth, states = DoubleWell(), DoubleWell(dt=0.05).simulate(8, seed=0)

    def errors(system: DoubleWell) -> dict[str, float]:
        fitted = methods.Fitted(methods.KnownSystem(system), 0.0, 0.0, 0.0, {})
        return measure._coefficients(fitted, cases()["double-well"], states)

    assert max(errors(truth).values()) == pytest.approx(0, abs=1e-12)
    wrong = errors(DoubleWell(rate=1.5, jump_scale=2.0, noise=1.0))
    assert wrong["jump_rate_error"] == wrong["jump_rate_median_error"] == pytest.approx(0.5)
    assert wrong["diffusion_error"] == pytest.approx(3.0)
    assert wrong["jump_law_error"] == pytest.approx(np.sqrt(2 / np.pi), abs=0.02)


def test_options_of_a_case_go_to_the_methods_that_have_them():
    case, made = cases()["rarefied-gas"], {}
    for name, method in methods.METHODS.items():
        made[name] = method.settings(TINY, case)
    assert all("'x1': 'v1'" in made[name] for name in ("likelihood", "euler-maruyama"))
    assert "v1" not in made["trajectory-flow-matching"]
    assert "kinetic=None" in methods.METHODS["likelihood"].settings(TINY, cases()["double-well"])


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


def test_friction_and_diffusivity_of_a_known_law():
    states = RarefiedGas().simulate(200, seed=0).states[:, ::20].reshape(-1, 6)
    limit = law_statistics(Langevin(friction=2.0, diffusivity=0.5), states)
    assert limit["friction"] == pytest.approx(2.0)
    assert limit["diffusivity"] == pytest.approx(0.5)
    # The gas relaxes at γ√(1 + 1/μ), and its kicks keep the variance at 1.1: D = 1.1/ν to the same order.
    gas = RarefiedGas()
    found = law_statistics(gas, states)
    assert found["friction"] == pytest.approx(gas.relaxation_rate, rel=0.03)
    assert found["diffusivity"] == pytest.approx(gas.velocity_variance / gas.relaxation_rate, rel=0.05)
    assert found["collision_rate"] == pytest.approx(gas.collision_rate, rel=0.02)


def test_a_rerun_skips_what_is_done_and_repairs_a_torn_line(tmp_path, monkeypatch):
    tasks = plan(TINY, 1, ["black-scholes"], CHEAP)
    whole = accuracy(run(tasks, tmp_path, jobs=1))
    lines = (tmp_path / "results.jsonl").read_bytes()
    (tmp_path / "results.jsonl").write_bytes(lines[:-40])
    calls = []
    monkeypatch.setattr(runner, "run_task", lambda task: calls.append(task.method) or run_task(task))
    assert accuracy(run(tasks, tmp_path, jobs=1)) == whole
    assert calls == ["parametric"]
    assert accuracy(run(tasks, tmp_path, jobs=1)) == whole
    assert calls == ["parametric"]
    other = [task._replace(protocol=QUICK) for task in tasks]
    assert len(Results(tmp_path).missing(other)) == len(other)


def test_a_killed_run_goes_on_to_the_same_table(tmp_path):
    """SIGKILL after the first result, then again: every figure as in a run that was left alone."""
    tasks = plan(TINY, 2, ["black-scholes"], CHEAP)
    whole = accuracy(run(tasks, tmp_path / "whole", jobs=1))
    code = (
        "from pathlib import Path; from nke.bench.protocol import Protocol; from nke.bench.runner import plan, run;"
        f"run(plan({TINY!r}, 2, ['black-scholes'], {CHEAP!r}), Path({str(tmp_path / 'killed')!r}), jobs=1)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    file = tmp_path / "killed" / "results.jsonl"
    while child.poll() is None and not (file.exists() and file.stat().st_size):
        time.sleep(0.005)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert accuracy(run(tasks, tmp_path / "killed", jobs=1)) == whole


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


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_fit_is_capped_in_any_thread(in_thread):
    seen = []

    def work():
        end = time.monotonic() + 20
        while time.monotonic() < end:
            time.sleep(0.01)

    def attempt():
        with pytest.raises(CapReachedError, match=r"cap of 0\.1 s"):
            capped(work, 0.1)
        seen.append(capped(lambda: "in time", 30.0))

    thread = threading.Thread(target=attempt)
    if in_thread:
        thread.start()
        thread.join()
    else:
        attempt()
    assert seen == ["in time"]


def record(method: str, seed: int, value: float | None, seconds: float = 10.0, status: str = "done") -> dict:
    names = ("mean_mse", "covariance_mse", "wasserstein", "large_mean_mse", "large_covariance_mse", "large_wasserstein")
    metrics = dict.fromkeys(names, value)
    times = {} if method == "oracle" else {"times": {"total": seconds, "compilation": 1.0, "processor": 2 * seconds}}
    spread = {"spread": dict.fromkeys(names, 0.1)} if method == "oracle" else {}
    common = {"system": "double-well", "method": method, "seed": seed, "configuration": {"cap": 5.0}}
    return common | {"status": status, "metrics": metrics} | times | spread


def test_tables_have_means_ratios_and_the_best_in_bold():
    """Two seeds made by hand: floors 1 and 2; every figure of the table is worked out here."""
    values = {
        "oracle": [1.0, 2.0],
        "parametric": [1.1, 2.2],
        "euler-maruyama": [3.0, 4.1],
        "likelihood": [0.8, 1.6],
        "moment-matching": [0.9, 1.5],
        "sde-gan": [1.0, None],
    }
    records = {}
    for method, pair in values.items():
        for seed, value in enumerate(pair):
            status = "done" if value is not None else "diverged"
            seconds = 20.0 if method == "euler-maruyama" else 30.0
            records["double-well", method, seed] = record(method, seed, value, seconds, status)
    made = {table.name: table for table in tables(cases()["double-well"], records)}
    paper = made["paper"].rows
    assert paper["oracle"][0] == Cell(1.5, 0.1, seeds=2)
    assert paper["euler-maruyama"][0].mean == pytest.approx(3.55)
    assert paper["euler-maruyama"][0].spread == pytest.approx(1.1 / np.sqrt(2))
    assert paper["euler-maruyama"][0].ratio == pytest.approx((3 + 2.05) / 2)
    assert paper["euler-maruyama"][0].ratio_error == pytest.approx(0.95 / 2)
    assert paper["sde-gan"][0].text == "--"
    assert [m for m, row in paper.items() if row[0].best] == ["moment-matching", "likelihood"]  # tied: 0.1 and −0.1
    assert paper["likelihood"][0].suspicious
    assert any("SDE-GAN: diverged with seed 1" in note for note in made["paper"].notes)
    assert made["excess"].rows["euler-maruyama"][0].ratio == pytest.approx(2.05 / 0.15)
    assert made["paired"].rows["euler-maruyama"][0].mean == pytest.approx((2.2 + 2.5) / 2)
    assert made["times"].rows["likelihood"][4].mean == pytest.approx(1.5)
    assert made["times"].rows["likelihood"][7].text == "1.34"  # the paper's
    words = render.markdown(list(made.values()))
    assert "| Oracle (floor) | 1.50 ± 0.10 |" in words
    assert "**1.20 ± 0.57 (0.800 ± 0.000‡)**" in words
    assert r"$\mathbf{1.20 \pm 0.57" in render.latex(list(made.values()))
    rows = list(csv.DictReader(render.comma_separated(list(made.values())).splitlines()))
    [cell] = [r for r in rows if (r["table"], r["method"], r["column"]) == ("paper", "parametric", "Wasserstein ↓")]
    assert float(cell["ratio"]) == pytest.approx(1.1)


@pytest.mark.parametrize("name", sorted(cases()))
def test_every_sign_of_a_table_is_written_for_latex(name):
    """pdflatex stops at a letter like Δ; a number and its ratio are apart."""
    case = cases()[name]
    measured = record("likelihood", 0, 1.0) | {"system": name}
    measured["metrics"] |= dict.fromkeys(case.statistics, 1.0)
    floor = record("oracle", 0, 1.0) | {"system": name}
    made = tables(case, {(name, "likelihood", 0): measured, (name, "oracle", 0): floor})
    assert bool(case.statistics) == any(table.name == "statistics" and table.rows for table in made)
    words = render.latex(made)
    assert words.isascii()
    assert r"$1.00\ (1.00)$" in words
    assert words.count(r"\begin{adjustbox}") == words.count(r"\end{adjustbox}") == words.count(r"\end{tabular}") > 0


def test_the_command_line_runs_a_sweep(tmp_path, monkeypatch):
    monkeypatch.setattr("nke.cli.bench.QUICK", TINY)
    command = ["bench", "--quick", "--systems", "black-scholes", "--methods", "oracle,parametric", "--jobs", "1"]
    outcome = CliRunner().invoke(app, [*command, "-o", str(tmp_path)], catch_exceptions=False)
    assert outcome.exit_code == 0
    assert "Parametric likelihood" in outcome.output
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2
    for line in (tmp_path / "results.jsonl").read_text().splitlines():
        assert json.loads(line)["configuration"]["train"] == TINY.train
    refused = CliRunner().invoke(app, [*command, "--backend", "dask", "-o", str(tmp_path)])
    assert refused.exit_code == 1
    assert "--scheduler" in refused.output


@contextmanager
def cluster(folder: Path):
    """A scheduler and two workers in processes of their own, on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    commands = [[*dask, "--no-dashboard"], *[[*worker, "--no-dashboard", "--local-directory", str(folder)]] * 2]
    processes = [subprocess.Popen(c, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for c in commands]
    try:
        yield address
    finally:
        for process in processes:
            process.kill()  # asked politely, a worker looks for its lost scheduler for half a minute
            process.wait()


def test_a_dask_cluster_gives_the_same_figures(tmp_path):
    distributed = pytest.importorskip("distributed")
    tasks = plan(TINY, 2, ["black-scholes"], CHEAP)
    with cluster(tmp_path) as address:
        with distributed.Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=120)
        remote = accuracy(run(tasks, tmp_path / "dask", backend="dask", scheduler=address))
    local = accuracy(run(tasks, tmp_path / "local", jobs=1))
    assert remote == local
