"""Scores beside others on the same data."""

import numpy as np

import nke
from nke.reporting.scores import compared_scores


def test_the_law_is_first_and_others_follow_by_their_score(small_fit):
    model, data = small_fit["model"], small_fit["data"]
    own, *others = compared_scores(model, data, {"the same again": model}, seed=0)
    assert own.name == "this law"
    assert own.score == np.float64(model.score(data)).item() or abs(own.score - model.score(data)) < 1e-6
    assert [each.score for each in others] == sorted((each.score for each in others), reverse=True)
    same = next(each for each in others if each.name == "the same again")
    assert same.gain == 0
    assert same.paths == own.paths
    process = next(each for each in others if each.name == "an Ornstein–Uhlenbeck process")
    assert abs(process.gain) < 3 * process.error + 0.003  # the truth is such a process


def test_distances_of_chance_are_those_of_a_right_law(dated_report, hostile_report):
    assert dated_report.contents.chance is None  # a single path
    own, chance = hostile_report.contents.scores[0].paths, hostile_report.contents.chance
    assert 0.2 < own.wasserstein / chance.wasserstein < 2
    assert nke.reporting.words.path_table(hostile_report.contents).rows[-1][0].startswith("chance alone")
