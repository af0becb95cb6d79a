"""What is measured of a law: the truth itself has no error and the score of the floor."""

import numpy as np
import pytest

from benchmarks.validation.nonpolynomial import command, families, rows
from benchmarks.validation.nonpolynomial.experiments import EXPERIMENTS, Experiment
from benchmarks.validation.nonpolynomial.measurement import Learned, Sizes, measure, rollout_figures
from nke.systems import OrnsteinUhlenbeck, PeriodicPotential

SMALL = Sizes(rollouts=128, replicates=30, draws=30)


@pytest.fixture
def experiment():
    return Experiment(
        "linear", OrnsteinUhlenbeck(), families.linear([[(-1.0, lambda x: x)]]), trajectories=32, positive=True
    )


def test_the_truth_scores_the_floor(experiment):
    row = measure(experiment, 3, "truth", SMALL)
    figures = row["figures"]
    assert figures["drift"] == figures["a"] == figures["lost"] == 0
    assert figures["mean a"] < 1e-9
    for name in ("mean_mse", "covariance_mse"):
        assert figures[f"{name} over floor"] == pytest.approx(1, abs=0.4)
    assert figures["wasserstein over floor"] == pytest.approx(1, abs=0.1)


def test_a_wrong_law_is_above_the_floor_and_lost_and_negative_paths_are_counted(experiment):
    class Lossy(Learned):
        def sample(self, initial, times, seed):
            paths = 1 + np.abs(super().sample(initial, times, seed))
            paths[:3, -1] = np.nan
            paths[3:8, 5] = -1
            return paths

    data, test = experiment.training_set(0), experiment.test_set(0, 64)
    figures = rollout_figures(Lossy(experiment.system, {}), experiment, data, test, 0, Sizes(64, 2, 2))
    assert (figures["lost"], figures["negative"]) == (3, 5)
    assert figures["mean_mse over floor"] > 5


def test_jumps_of_the_truth_are_one_gaussian_at_the_true_rate():
    experiment = Experiment("jumps", PeriodicPotential(dt=0.05), EXPERIMENTS["periodic-potential"].family)
    figures = measure(experiment.quick(), 0, "truth", Sizes(16, 1, 1))["figures"]
    assert (figures["mean rate"], figures["components"], figures["rate"]) == (1, 1, 0)
    assert figures["variation of jumps"] < 1e-9


def test_what_fails_is_a_row(experiment, monkeypatch):
    monkeypatch.setattr(type(experiment.system), "drift", lambda self, x: 1 / 0)
    assert "ZeroDivisionError" in measure(experiment, 0, "references", Sizes(8, 1, 1))["error"]


def test_rows_are_kept_joined_and_shown(tmp_path, capsys):
    file, size = tmp_path / "rows.jsonl", {"system": "pendulum", "trajectories": 512}
    for seed, drift in ((1, 0.02), (2, 0.06)):
        regression = {"plain": {"error": 0.08}, "angles": {"error": 0.02}}
        rows.append(file, size | {"seed": seed, "method": "references", "parametric": 0.01, "regression": regression})
        figures = {"drift": drift, "a": 0.01, "lost": 0.0, "wasserstein over floor": float("nan")}
        found = {"figures": figures, "wall": 1.0, "processor": 2.0, "form": "a form", "warnings": ["too coarse"]}
        rows.append(file, size | {"seed": seed, "method": "automatic"} | found)
    with file.open("a") as torn:
        torn.write('{"system": "pend')
    assert len(rows.read(file)) == 4
    command.main(["--table", str(file)])
    shown = capsys.readouterr().out
    assert "| pendulum | 512 | 2 | 0.04 ± 0.02 | 2 ± 1 ✗ | 0.01 ± 0 | -- |" in shown
    assert "not finite ✗" in shown
    assert "pendulum, seed 1: a form. too coarse" in shown
    rows.append(file, size | {"seed": 3, "method": "automatic", "error": "InputError: no"})
    assert len(rows.read(file)) == 5


def test_the_command_measures_what_is_missing_and_goes_on(tmp_path, monkeypatch):
    asked = []

    def stub(experiment, seed, method, sizes):
        asked.append((experiment.name, seed, method))
        cell = {"system": experiment.name, "seed": seed, "method": method, "trajectories": experiment.trajectories}
        return (
            cell | {"error": "stopped"}
            if method == "truth"
            else cell | {"parametric": 0.1, "regression": {"plain": {"error": 0.2}}}
        )

    monkeypatch.setattr(command, "measure", stub)
    options = ["--quick", "--systems", "pendulum", "--seeds", "1", "--method", "truth", "--output", str(tmp_path / "a")]
    command.main(options)
    assert asked == [("pendulum", 200, "references"), ("pendulum", 200, "truth")]
    command.main(options)
    assert asked[2:] == [("pendulum", 200, "truth")]  # what failed is measured again


def test_the_size_can_be_chosen(monkeypatch):
    sizes = []
    monkeypatch.setattr(
        command,
        "measure",
        lambda experiment, *_: (
            sizes.append(experiment.trajectories) or {"error": "-", "method": "truth", "system": "pendulum", "seed": 0}
        ),
    )
    command.main(["--systems", "lorenz-tenth", "--trajectories", "512", "--seeds", "1", "--method", "truth"])
    assert set(sizes) == {512}


def test_unknown_systems_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["--systems", "weather"])
    assert "expected some of repressilator" in capsys.readouterr().err
