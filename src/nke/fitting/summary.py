"""The one formatter that makes a summary from a result."""

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from nke.fitting.decisions import Decision, in_words

if TYPE_CHECKING:
    from nke.fitting.result import FitResult

TOPIC, TEXT = 14, 66  # columns of a line, which fits a terminal of 80


def summarise(result: "FitResult") -> str:
    """Writes a result in plain words.

    Args:
        result: Of a fit.

    Returns:
        The law, the score, the decisions with their evidence, the trainings and the time; a topic in front of each.
    """
    rows = [*_law(result), *(row for decision in result.decisions for row in _decision(decision)), *_training(result)]
    lines = []
    for topic, words in rows:
        first, *rest = wrap(words, TEXT, subsequent_indent="  ") or [""]
        lines += [f"{topic:<{TOPIC}}{first}", *(f"{'':<{TOPIC}}{line}" for line in rest)]
    return "\n".join(lines)


def _law(result: "FitResult") -> Iterator[tuple[str, str]]:
    model = result.model
    names = ", ".join(f"{n} [{u}]" if u else n for n, u in zip(model.names, model.units, strict=True))
    learned = "drift, diffusion and jumps" if model.has_jumps else "drift and diffusion, no jumps,"
    unit = f" {model.unit_of_time}" if model.unit_of_time else ""
    yield "law", f"{learned} of {names}; step {model.step:g}{unit}"
    for line in [] if result.equation is None else result.equation.lines():
        yield "", line
    if result.score is not None:
        yield "score", f"{result.score.value:.4f} ± {result.score.error:.4f} nats per held-out transition"
    if result.diagnosis is not None:
        yield "diagnosis", result.diagnosis.verdict
        for line in result.diagnosis.lines():
            yield "", f"- {line}"


def _decision(decision: Decision) -> Iterator[tuple[str, str]]:
    """Question and answer, then a line for the evidence, or for each candidate, and one for the rule."""
    yield decision.topic, f"{decision.question} {decision.answer}"
    for line in in_words(decision.evidence):
        yield "", f"- {line}"
    if decision.rule:
        yield "", f"- rule: {decision.rule}"


def _training(result: "FitResult") -> Iterator[tuple[str, str]]:
    for name, curve in result.history.items():
        kept = f"kept step {curve.steps[curve.best]}" if curve.best >= 0 else "kept the start"
        loss = curve.held_out[max(curve.best, 0)]
        steps = f"{curve.steps[-1]} steps, {kept}, held-out loss {loss:.4g}, {curve.seconds:.1f} s"
        yield "training", f"{name}: {steps}"
    rest = [(name, s) for name, s in result.timings.items() if name != "total" and name not in result.history]
    if result.timings:
        parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in rest)
        yield "time", f"{result.timings.get('total', 0.0):.1f} s in total: {parts}"
