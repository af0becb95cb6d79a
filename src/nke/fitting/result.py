"""What a fit gives back: the model and how it came about."""

from dataclasses import dataclass, field

from nke.fitting.loop import Curve
from nke.model import Model


@dataclass(frozen=True)
class FitResult:
    """``model``, the ``history`` of each stage, ``timings`` in seconds and what was ``decided`` and why."""

    model: Model
    history: dict[str, Curve]
    timings: dict[str, float]
    decided: dict[str, str] = field(default_factory=dict)

    def summary(self) -> str:
        """The fit in plain words."""
        model = self.model
        units = [f"{n} [{u}]" if u else n for n, u in zip(model.names, model.units, strict=True)]
        learned = "drift, diffusion and jumps" if model.has_jumps else "drift and diffusion, no jumps"
        lines = [
            f"{'learned':<12} {learned}",
            f"{'coordinates':<12} {', '.join(units)}; step {model.step:g}",
        ]
        lines += [f"{name:<12} {reason}" for name, reason in self.decided.items()]
        for name, curve in self.history.items():
            kept = f"kept step {curve.steps[curve.best]}" if curve.best >= 0 else "kept the start"
            lines.append(
                f"{name:<12} {curve.steps[-1]} steps, {kept}, held-out loss "
                f"{curve.held_out[max(curve.best, 0)]:.4g}, {curve.seconds:.1f} s"
            )
        parts = ", ".join(f"{name} {t:.1f} s" for name, t in self.timings.items() if name != "total")
        lines.append(f"{'time':<12} {self.timings.get('total', 0.0):.1f} s in total: {parts}")
        return "\n".join(lines)
