"""The thresholds: each says what it decides and what it rests on; they travel with the result."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from nke.fitting import FitResult, SelectionRules


def test_the_table_has_a_row_for_every_rule():
    head, line, *rows = SelectionRules.table().splitlines()
    assert head.count("|") == line.count("|") == 5
    assert [row.split("|")[1].strip(" `") for row in rows] == [rule.name for rule in fields(SelectionRules)]
    assert all(row.count("|") == 5 for row in rows)


@pytest.mark.parametrize("rule", fields(SelectionRules), ids=lambda rule: rule.name)
def test_a_rule_says_what_it_decides_and_what_was_measured(rule):
    assert len(rule.metadata["decides"]) > 5
    assert rule.metadata["measured"]


def test_through_json_and_back():
    rules = SelectionRules(jump_kurtosis=0.6, unsure_kurtosis=(0.1, 0.9))
    assert SelectionRules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules


def test_rules_of_another_version_are_left_out_and_missing_ones_are_defaults():
    assert SelectionRules.from_dict({"most_degree": 2, "phase of the moon": 7}) == SelectionRules(most_degree=2)


def test_rules_are_kept_with_the_result(linear_fit, tmp_path):
    changed = replace(linear_fit, rules=SelectionRules(trial_steps=7))
    changed.save(tmp_path / "law.nke")
    assert FitResult.load(tmp_path / "law.nke").rules == changed.rules


def test_the_documentation_shows_the_rules_of_the_code():
    """``make rules`` writes the table."""
    page = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text()
    assert SelectionRules.table() in page
