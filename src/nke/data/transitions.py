"""Transitions: the pairs (state, next observed state) that everything is learned from."""

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Float64, Int64, Shaped


@dataclass(frozen=True, eq=False)
class Transitions:
    """T observed transitions x → y, each with its own step; ``row`` is where x stands in its trajectory."""

    x: Float64[np.ndarray, "T d"]
    y: Float64[np.ndarray, "T d"]
    step: Float64[np.ndarray, " T"]
    trajectory: Int64[np.ndarray, " T"]
    time: Float64[np.ndarray, " T"]
    row: Int64[np.ndarray, " T"]

    @classmethod
    def between_rows(
        cls,
        states: Float64[np.ndarray, "R d"],
        times: Float64[np.ndarray, " R"],
        observed: Bool[np.ndarray, " R"],
        lengths: Int64[np.ndarray, " M"],
    ) -> "Transitions":
        """From trajectories laid end to end: each observed row is paired with the next one of its trajectory.

        A row that was not observed is skipped, so that the transition spans the gap with its true step.
        """
        if len(lengths) == 1 and observed.all():  # no index arrays for a path of millions of rows
            n = len(states) - 1
            same, row = np.zeros(n, np.int64), np.arange(n)
            return cls(states[:-1], states[1:], np.diff(times), same, times[:-1], row)
        seen = np.flatnonzero(observed)
        trajectory = np.repeat(np.arange(len(lengths)), lengths)[seen]
        joined = trajectory[1:] == trajectory[:-1]
        start, end, trajectory = seen[:-1][joined], seen[1:][joined], trajectory[:-1][joined]
        first_row = np.cumsum(lengths) - lengths
        return cls(
            x=states[start],
            y=states[end],
            step=times[end] - times[start],
            trajectory=trajectory,
            time=times[start],
            row=start - first_row[trajectory],
        )

    def __len__(self) -> int:
        return len(self.step)

    @property
    def dimension(self) -> int:
        return self.x.shape[1]

    @property
    def displacement(self) -> Float64[np.ndarray, "T d"]:
        """y − x, in float64: small motions on a large offset would be lost in float32."""
        return self.y - self.x

    def take(self, index: Shaped[np.ndarray, " n"] | slice) -> "Transitions":
        """The transitions that a boolean mask, an array of indices or a slice picks."""
        return type(self)(**{field.name: getattr(self, field.name)[index] for field in fields(self)})

    def regular_step(self, tolerance: float = 1e-6) -> float | None:
        """The common step if all steps agree to the relative tolerance, otherwise None.

        Times far from zero (seconds since 1970) carry a rounding error that their differences inherit;
        steps that differ by no more than it agree as well, as long as it is below 1e-3 of a step.
        """
        if len(self) == 0:
            return None
        step = float(np.mean(self.step))
        rounding = 4 * float(np.spacing(np.max(np.abs(self.time) + self.step))) / step
        allowed = max(tolerance, min(rounding, 1e-3))
        return step if np.max(np.abs(self.step - step)) <= allowed * step else None
