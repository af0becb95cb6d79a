"""The summary: the law in the user's units, its score and what speaks against it, in words that need no code."""

from dataclasses import replace

import nke
from nke.fitting.summary import SAVED


def test_a_polynomial_law(linear_fit):
    text = linear_fit.summary()
    first, drift, noise, score, decided, *_ = text.splitlines()
    assert first.split(maxsplit=1) == ["law", "drift and diffusion, no jumps, of u [mm]; step 1.2 s"]
    assert drift.split(maxsplit=1) == ["drift", linear_fit.equation.lines()[0]]
    volatility = linear_fit.model.diffusion([[0.0]])[0, 0, 0] ** 0.5
    assert noise.startswith(f"volatility    {volatility:.0f} (")
    assert noise.endswith("mm per √second, the same in every state")
    assert score.endswith("nats per held-out transition")
    assert str(linear_fit.score.value)[:5] in score
    assert "jumps: none, as asked" in decided
    assert str(linear_fit) == text


def test_how_it_was_found_is_told_when_asked_for(linear_fit):
    text = linear_fit.summary(verbose=True)
    whole = " ".join(text.split())
    for decision in linear_fit.decisions:
        assert f"{decision.topic} {decision.question} {decision.answer}" in whole
        assert f"rule: {decision.rule}" in whole
        assert decision.question not in linear_fit.summary()
    assert sum(line.startswith("time ") for line in text.splitlines()) == 1
    assert "lack of fit" in text


def test_jumps_are_told_as_rate_mean_and_deviation_in_units(jump_fit):
    """Truth: λ = 1 per unit time, N(0, 1)."""
    text = jump_fit.summary()
    assert text.startswith("law           drift, diffusion and jumps of x;")
    [line] = [line for line in text.splitlines() if line.startswith("jumps ")]
    rate, law = jump_fit.model.jump_rate([0.0]), jump_fit.model.jump_law([0.0])
    assert line.split()[1].startswith(nke.model.words.figure(float(rate)))
    assert "per unit time; mean" in line
    assert nke.model.words.figure(float(law.covariance[0, 0]) ** 0.5) in " ".join(line.split())


def test_a_law_without_equation_is_a_table_over_the_range_of_the_data(network_fit):
    result = replace(network_fit, equation=None)
    found = result.model.coefficients()
    lines = result.summary().splitlines()
    [heading] = [i for i, line in enumerate(lines) if "drift f" in line]
    assert "total drift" in lines[heading]
    assert "jumps per time" in lines[heading]
    states = [float(row.split()[0].replace("−", "-")) for row in lines[heading + 1 : heading + 6]]
    assert states == [float(f"{x:.3g}") for x in found.states[:, 0]]


def test_trainings(network_fit):
    text = network_fit.summary(verbose=True)
    assert sum(line.startswith("training ") for line in text.splitlines()) == len(network_fit.history)
    whole = " ".join(text.split())
    for name, curve in network_fit.history.items():
        assert f"training {name}: {curve.steps[-1]} steps, kept" in whole
        assert f"held-out loss {curve.held_out[max(curve.best, 0)]:.4g}" in whole


def test_a_warning_stands_out(linear_fit):
    doubtful = replace(linear_fit.decisions[-1], warning="the step of the data is too coarse")
    result = replace(linear_fit, decisions=(*linear_fit.decisions[:-1], doubtful))
    assert "warning       the step of the data is too coarse" in result.summary()


def test_coordinates_are_suggested_in_a_line(linear_fit):
    words = "share stays between 0 and 1: bounds={'share': (0, 1)} would keep simulated states there"
    result = replace(linear_fit, decisions=(*linear_fit.decisions, nke.fitting.Decision("?", words, topic="bounds")))
    assert f"hint {words}" in " ".join(result.summary().split())
    assert "hint" not in linear_fit.summary()


def test_lines_fit_a_terminal_of_eighty_columns_and_are_few(linear_fit, jump_fit, network_fit):
    for result in (linear_fit, jump_fit, network_fit):
        assert max(map(len, result.summary(verbose=True).splitlines())) <= 80
        assert len(result.summary().splitlines()) <= 15


def test_without_private_words(linear_fit, jump_fit, network_fit):
    for result in (linear_fit, jump_fit, network_fit):
        for words in ("left over", "runs away", "finite numbers", "of itself", "asks for"):
            assert words not in result.summary(verbose=True)


def test_long_compilation_is_told_with_what_saves_it(linear_fit):
    slow = replace(linear_fit, timings={**linear_fit.timings, SAVED: 12.3})
    assert "nke.cache() before the fit saves" not in linear_fit.summary()
    for verbose in (False, True):
        text = slow.summary(verbose=verbose)
        assert text.splitlines()[-1].split(maxsplit=1) == [
            "compilation",
            "12 s, which nke.cache() before the fit saves the next time",
        ]
        assert SAVED not in text
