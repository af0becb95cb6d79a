"""The one formatter that makes a summary from a result."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nke.fitting.result import FitResult


def summarise(result: "FitResult") -> str:
    """Writes a result in plain words.

    Args:
        result: Of a fit.

    Returns:
        The law, the score, the decisions with their evidence, the trainings and the time; a topic in front of each.
    """
    model = result.model
    names = ", ".join(f"{n} [{u}]" if u else n for n, u in zip(model.names, model.units, strict=True))
    learned = "drift, diffusion and jumps" if model.has_jumps else "drift and diffusion, no jumps,"
    unit = f" {model.unit_of_time}" if model.unit_of_time else ""
    rows = [("law", f"{learned} of {names}; step {model.step:g}{unit}")]
    if result.equation is not None:
        rows += [("", line) for line in result.equation.lines()]
    if result.score is not None:
        rows.append(("score", f"{result.score.value:.4f} ± {result.score.error:.4f} nats per held-out transition"))
    rows += [(decision.topic, str(decision)) for decision in result.decisions]
    for name, curve in result.history.items():
        kept = f"kept step {curve.steps[curve.best]}" if curve.best >= 0 else "kept the start"
        loss = curve.held_out[max(curve.best, 0)]
        rows.append(
            ("training", f"{name}: {curve.steps[-1]} steps, {kept}, held-out loss {loss:.4g}, {curve.seconds:.1f} s")
        )
    parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result.timings.items() if name != "total")
    if result.timings:
        rows.append(("time", f"{result.timings.get('total', 0.0):.1f} s in total: {parts}"))
    return "\n".join(f"{topic:<12} {words}" for topic, words in rows)
