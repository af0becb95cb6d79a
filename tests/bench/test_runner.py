"""The sweep on a tiny budget: planned, resumed, killed, spread over a Dask cluster."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench_cells import CHEAP, TINY, accuracy
from nke.bench import runner
from nke.bench.measure import run_task
from nke.bench.methods import methods
from nke.bench.protocol import QUICK
from nke.bench.results import Results
from nke.bench.runner import plan, run


@pytest.fixture(scope="module")
def tasks():
    return plan(TINY, 2, ["black-scholes"], CHEAP)


@pytest.fixture(scope="module")
def whole(tasks, tmp_path_factory):
    """Every figure of a run that was left alone."""
    return accuracy(run(tasks, tmp_path_factory.mktemp("whole"), jobs=1))


def test_every_system_and_method_is_planned_once():
    tasks = plan(TINY, 2)
    systems = ["lorenz-0.3", "lorenz-3", "black-scholes", "double-well", "rarefied-gas", "near-brownian-gas"]
    assert list(dict.fromkeys(task.system for task in tasks)) == systems
    assert {task.method for task in tasks} == set(methods())
    assert len({task[:3] for task in tasks}) == len(tasks) == 2 * len(systems) * len(methods())
    with pytest.raises(ValueError, match="expected systems among lorenz"):
        plan(TINY, 1, ["weather"])


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


def test_a_killed_run_goes_on_to_the_same_table(tmp_path, tasks, whole):
    """SIGKILL after the first result, then again: every figure as in a run that was left alone."""
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


@contextmanager
def cluster(folder: Path):
    """A scheduler and a worker of two threads in processes of their own, on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "2", "--no-nanny"]
    commands = [[*dask, "--no-dashboard"], [*worker, "--no-dashboard", "--local-directory", str(folder)]]
    processes = [subprocess.Popen(c, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for c in commands]
    try:
        yield address
    finally:
        for process in processes:
            process.kill()  # asked politely, a worker looks for its lost scheduler for half a minute
            process.wait()


def test_a_dask_cluster_gives_the_same_figures(tmp_path, tasks, whole):
    distributed = pytest.importorskip("distributed")
    with cluster(tmp_path) as address:
        with distributed.Client(address, timeout=60) as client:
            client.wait_for_workers(1, timeout=120)
        remote = accuracy(run(tasks, tmp_path / "dask", backend="dask", scheduler=address))
    assert remote == whole
