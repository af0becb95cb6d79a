"""What a fit gives back: found by topic, as plain values, and from its file."""

import json

import numpy as np
import pytest

import nke
from nke.errors import DamagedFileError, InputError
from nke.fitting import FitResult
from nke.model.storage import load_with_history, write
from quick_fits import QUICK, double_well, ornstein_uhlenbeck_in_units


class TestDecisions:
    def test_are_found_by_topic(self, linear_fit):
        assert linear_fit.decision("jumps").answer == "none, as asked"
        assert linear_fit.decision("networks").answer == "no"

    def test_an_unknown_topic_names_those_there_are(self, linear_fit):
        with pytest.raises(InputError, match=r"one of data, coordinates, jumps.*but got 'weather'"):
            linear_fit.decision("weather")


def test_plain_values(jump_fit):
    found = json.loads(json.dumps(jump_fit.to_dict()))
    assert found["jumps"] is True
    assert found["form"] == jump_fit.form.to_dict()
    assert found["score"] == {"value": jump_fit.score.value, "error": jump_fit.score.error}
    assert [d["topic"] for d in found["decisions"]] == [d.topic for d in jump_fit.decisions]
    assert found["equation"]["names"] == ["x"]
    assert found["timings"]["total"] > 0


class TestFile:
    @pytest.mark.parametrize("name", ["linear_fit", "jump_fit", "network_fit"])
    def test_everything_but_the_timings_comes_back(self, name, request, tmp_path):
        result = request.getfixturevalue(name)
        result.save(tmp_path / "law.nke")
        again = FitResult.load(tmp_path / "law.nke")
        for field in ("decisions", "equation", "form", "score", "rules"):
            assert getattr(again, field) == getattr(result, field), field
        assert again.timings == {}
        assert again.history.keys() == result.history.keys()
        for stage, curve in result.history.items():
            assert (again.history[stage].best, again.history[stage].kind) == (curve.best, curve.kind)
            for side in ("steps", "train", "held_out"):
                np.testing.assert_array_equal(getattr(again.history[stage], side), getattr(curve, side))

    @pytest.mark.parametrize(
        "odd",
        [
            "",
            "null",
            "[" * 100_000,
            {"history": None},
            {"decisions": [{"question": 1, "answer": "", "evidence": {}, "rule": ""}]},
            {"decisions": [{"question": "", "answer": "", "evidence": "x", "rule": ""}]},
            {"equation": {"names": ["x"]}},
            {"form": {"noise": 1}},
            {"form": {"noise": "constant", "more": 1}},
            {"score": {"value": "1", "error": 0.1}},
            {"rules": {"most_degree": "3"}},
            {"diagnosis": {"findings": [{"check": "no such check"}]}},
            {"history": {"likelihood": {"steps": [[1]], "train": [1], "held_out": [1], "best": 0, "kind": "training"}}},
        ],
    )
    def test_a_history_that_is_none(self, linear_fit, tmp_path, odd):
        linear_fit.save(tmp_path / "law.nke")
        told = json.loads(load_with_history(tmp_path / "law.nke")[1])
        history = odd if isinstance(odd, str) else json.dumps(told | odd)
        write(linear_fit.model, tmp_path / "law.nke", history)
        with pytest.raises(DamagedFileError, match=r"law\.nke cannot be read: how its model came about"):
            FitResult.load(tmp_path / "law.nke")
        assert nke.load(tmp_path / "law.nke").names == linear_fit.model.names

    def test_a_model_saved_alone_has_no_history(self, linear_fit, tmp_path):
        linear_fit.model.save(tmp_path / "law.nke")
        again = FitResult.load(tmp_path / "law.nke")
        assert (again.history, again.decisions, again.equation, again.score) == ({}, (), None, None)

    def test_sentences_of_an_earlier_format_are_read(self, linear_fit, tmp_path):
        """Files of format 4 tell what was decided in sentences, and a curve as a list."""
        curves = {"trial: plain": [[200], [0.5], [0.6], 0], "likelihood": [[200, 400], [0.4, 0.3], [0.5, 0.6], 0]}
        found = {"history": curves, "decided": {"jumps": "none, as asked", "method": "noise constant"}}
        write(linear_fit.model, tmp_path / "old.nke", json.dumps(found))
        old = FitResult.load(tmp_path / "old.nke")
        assert {name: curve.kind for name, curve in old.history.items()} == {
            "trial: plain": "trial",
            "likelihood": "training",
        }
        np.testing.assert_array_equal(old.history["likelihood"].steps, [200, 400])
        np.testing.assert_array_equal(old.history["likelihood"].held_out, [0.5, 0.6])
        assert old.history["likelihood"].best == 0
        assert old.decision("method").answer == "noise constant"
        assert "none, as asked" in old.summary(verbose=True)
        x = np.array([[3.0]])
        np.testing.assert_array_equal(old.model.drift(x), linear_fit.model.drift(x))


def test_the_score_is_that_of_the_model(linear_fit, jump_fit):
    """The mean log density of the held-out trajectories, in the units of the data."""
    for result, data in ((linear_fit, ornstein_uhlenbeck_in_units()), (jump_fit, double_well())):
        held_out = data.split(QUICK.held_out, 0)[1]
        assert result.score.value == pytest.approx(result.model.score(held_out), abs=1e-4)
        assert 0 < result.score.error < 0.2


def test_the_diagnosis_comes_back_from_the_file(tmp_path):
    data = ornstein_uhlenbeck_in_units()
    result = nke.fit(data, QUICK, jumps=False)
    assert result.diagnosis.passed
    assert result.timings["diagnosis"] > 0
    assert "diagnosis     nothing speaks against it" in result.summary()
    result.save(tmp_path / "law.nke")
    assert FitResult.load(tmp_path / "law.nke").diagnosis == result.diagnosis
