"""What a fit gives back: the model and how it came about."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nke.fitting.loop import Curve
from nke.model import Model
from nke.model.storage import load_with_history, write


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

    def save(self, path: str | Path) -> None:
        """Writes the model and how it came about to one file; ``nke.load`` reads the model, ``FitResult.load`` all.

        Timings are left out: the same fit gives the same file.
        """
        curves = {
            name: [*(np.asarray(part).tolist() for part in curve[:4]), curve.kind]
            for name, curve in self.history.items()
        }
        write(self.model, path, json.dumps({"history": curves, "decided": self.decided}))

    @classmethod
    def load(cls, path: str | Path) -> "FitResult":
        """Reads a file written by ``save``; the history of a model that was saved alone is empty."""
        model, history = load_with_history(path)
        told = {"history": {}, "decided": {}} if history is None else json.loads(history)
        curves = {name: _curve(*parts) for name, parts in told["history"].items()}
        return cls(model, curves, {}, told["decided"])


def _curve(steps: list[int], train: list[float], held_out: list[float], best: int, kind: str = "training") -> Curve:
    return Curve(np.asarray(steps), np.asarray(train), np.asarray(held_out), best, seconds=0.0, kind=kind)
