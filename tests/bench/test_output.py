"""A small sweep from the fit to its tables and figures."""

import numpy as np

from bench_cells import TINY
from nke.bench.output import write_output
from nke.bench.runner import plan, run


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
