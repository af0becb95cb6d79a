"""Decisions as data: through JSON and back, and the one formatter that makes words of them."""

import json

import numpy as np
import pytest

from nke.fitting import Decision, Estimate, division

CHOSEN = Decision(
    "Which law?",
    "the second",
    {
        "first": {"gain": Estimate(-0.25, 0.01), "parameters": 3, "diverges": True},
        "second": {"gain": Estimate(0.123456, 0.002), "failure": "none at all"},
        "share": 0.123456,
        "unknown": None,
    },
    "the best one",
    "law",
)


class TestEstimate:
    def test_of_values(self):
        values = np.random.default_rng(0).normal(3.0, 2.0, size=400)
        mean, error = Estimate.of(values)
        assert mean == values.mean()
        assert error == pytest.approx(values.std() / 20)

    def test_in_words(self):
        assert str(Estimate(0.123456, 0.00214)) == "0.1235 ± 0.0021"


class TestDecision:
    def test_through_json_and_back(self):
        assert Decision.from_dict(json.loads(json.dumps(CHOSEN.to_dict()))) == CHOSEN

    def test_every_decision_of_a_fit_survives_json(self, linear_fit, jump_fit):
        for decision in (*linear_fit.decisions, *jump_fit.decisions):
            assert Decision.from_dict(json.loads(json.dumps(decision.to_dict()))) == decision

    def test_in_words(self):
        assert str(CHOSEN) == (
            "Which law? the second (first: gain -0.25 ± 0.01, parameters 3, diverges yes; "
            "second: gain 0.1235 ± 0.002, failure none at all; share 0.1235; unknown unknown; the best one)"
        )

    def test_without_evidence_and_rule(self):
        assert str(Decision("Are there jumps?", "none, as asked")) == "Are there jumps? none, as asked"

    def test_every_decision_of_a_fit_has_question_answer_and_topic(self, linear_fit, jump_fit):
        for result in (linear_fit, jump_fit):
            topics = [decision.topic for decision in result.decisions]
            assert len(set(topics)) == len(topics)
            assert all(d.topic and d.answer and d.question.endswith("?") for d in result.decisions)


def test_division():
    decision = division(90, 10, 0.1, "packets")
    assert decision.answer == "90 packets to train, 10 held out"
    assert decision.evidence == {"training": 90, "held out": 10}
    assert decision.topic == "data"
