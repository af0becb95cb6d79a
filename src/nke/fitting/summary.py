"""The one formatter that makes a summary from a result."""

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from nke.fitting.decisions import Decision, in_words
from nke.model.coefficients import Coefficients
from nke.model.words import Row, column_rows, jump_rows, noise_rows, shift_rows, table, title

if TYPE_CHECKING:
    from nke.fitting.result import FitResult

SAVED = "saved by nke.cache"  # name of a timing
HINTS = ("angles", "bounds")  # topics of decisions that name coordinates which may suit better
TOPIC, TEXT = 14, 66  # columns of a line, which fits a terminal of 80
NOISE_IN_WORDS = {
    "constant": "noise the same in every state",
    "plain": "noise that depends on the state",
    "diagonal": "noise that depends on the state, independent between coordinates",
    "relative": "noise in proportion to the state",
}


def summarise(result: "FitResult", verbose: bool = False) -> str:
    """Writes a result in plain words.

    Args:
        result: Of a fit.
        verbose: Whether to tell how it was found: the decisions with their evidence, the trainings and the time.

    Returns:
        The law, the score, what speaks against it and the decisions; a topic in front of each.
    """
    found = result.model.coefficients()
    lines = [*_wrapped(law_rows(result, found)), *_table(result, found), *_wrapped(_trust(result))]
    if verbose:
        decisions = (row for decision in result.decisions for row in _decision(decision))
        lines += [*_wrapped(decisions), *_wrapped(_training(result))]
    elif result.form is not None:
        lines += _wrapped([("decided", _briefly(result))])
    if SAVED in result.timings:
        words = f"{result.timings[SAVED]:.0f} s, which nke.cache() before the fit saves the next time"
        lines += _wrapped([("compilation", words)])
    return "\n".join(lines)


def _wrapped(rows: Iterator[Row] | list[Row]) -> Iterator[str]:
    for topic, words in rows:
        indent = words[: len(words) - len(words.lstrip())]
        first, *rest = wrap(words, TEXT, subsequent_indent=f"{indent}  ") or [""]
        yield f"{topic:<{TOPIC}}{first}"
        yield from (f"{'':<{TOPIC}}{line}" for line in rest)


def law_rows(result: "FitResult", found: Coefficients) -> Iterator[Row]:
    """Says what the law is: columns, drift, volatility, jumps.

    Args:
        result: Of a fit.
        found: The coefficients of its model.

    Yields:
        A topic and its words.
    """
    model, equation = result.model, result.equation
    yield "law", title(model)
    yield from column_rows(model)
    if equation is None:
        form = "" if result.form is None else f"{result.form.drift}: "
        yield "drift", f"{form}no short equation, see the table"
    for k, line in enumerate(() if equation is None else equation.drift_lines()):
        yield "" if k else "drift", line
    errors: dict[int, float] = {}
    if equation is not None and equation.noise is not None:
        a, error = (np.diag(np.array(each)) for each in (equation.noise.diffusion, equation.noise.error))
        errors = {int(i): float(error[i] / a[i] / 2) for i in np.flatnonzero(a > 0)}
    yield from noise_rows(found, errors)
    if equation is None or equation.jumps is None:
        yield from jump_rows(found)
    else:
        same_units = model.coordinates.is_affine and len(found.jumps) == len(equation.jumps.components)
        spreads = [(c.mean_error, c.deviation_error) for c in equation.jumps.components] if same_units else []
        yield from jump_rows(found, equation.jumps.rate_error, spreads)
        if not model.coordinates.is_affine:
            yield "", f"as learned: {'; '.join(line.strip() for line in equation.jump_lines()[1:])}"
    yield from shift_rows(found)


def _table(result: "FitResult", found: Coefficients) -> list[str]:
    """A table of what the lines above do not tell: coefficients that are no short equation in the user's columns."""
    plain = result.equation is not None and result.model.coordinates.is_affine
    simple = all(found.noise(i) != "state-dependent" for i in range(len(found.names)))
    steady = not found.has_jumps or found.jumps_are_the_same
    return [] if plain and simple and steady else [f"  {line}" for line in table(found)]


def _trust(result: "FitResult") -> Iterator[Row]:
    if result.score is not None:
        yield "score", f"{result.score.value:.4f} ± {result.score.error:.4f} nats per held-out transition"
    if result.diagnosis is not None:
        yield "diagnosis", result.diagnosis.verdict
        for line in result.diagnosis.lines():
            yield "", f"- {line}"
    for decision in result.decisions:
        if decision.warning:
            yield "warning", decision.warning
    for decision in result.decisions:
        if decision.topic in HINTS:
            yield "hint", decision.answer


def _briefly(result: "FitResult") -> str:
    """What was decided, without its reasons."""
    assert result.form is not None
    parts = [f"jumps: {decision.answer}" for decision in result.decisions if decision.topic == "jumps"]
    noise, networks = NOISE_IN_WORDS.get(result.form.noise, result.form.noise), result.form.networks
    written = result.equation is not None and result.form.basis != "powers"
    drift = "the equation above" if written else result.form.drift
    return "; ".join([*parts, noise, f"drift: {drift}", *["networks"] * networks])


def _decision(decision: Decision) -> Iterator[Row]:
    """Question and answer, then a line for the evidence, or for each candidate, and one for the rule."""
    yield decision.topic, f"{decision.question} {decision.answer}"
    for line in in_words(decision.evidence):
        yield "", f"- {line}"
    if decision.rule:
        yield "", f"- rule: {decision.rule}"


def _training(result: "FitResult") -> Iterator[Row]:
    for name, curve in result.history.items():
        kept = f"kept step {curve.steps[curve.best]}" if curve.best >= 0 else "kept the start"
        loss = curve.held_out[max(curve.best, 0)]
        steps = f"{curve.steps[-1]} steps, {kept}, held-out loss {loss:.4g}, {curve.seconds:.1f} s"
        yield "training", f"{name}: {steps}"
    rest = [(name, s) for name, s in result.timings.items() if name not in ("total", SAVED, *result.history)]
    if result.timings:
        parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in rest)
        yield "time", f"{result.timings.get('total', 0.0):.1f} s in total: {parts}"
