"""Transitions: the pairs (state, next observed state) that everything is learned from."""

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Float64, Int64, Shaped


@dataclass(frozen=True, eq=False)
class Transitions:
    """T observed transitions x → y, each with its own step.

    Attributes:
        x: States before, (T, d).
        y: Next observed states, (T, d).
        step: Times from x to y, (T,).
        trajectory: The trajectory of each transition, counted from 0, (T,).
        time: Times of x, (T,).
        row: Rows of x in their trajectories, (T,).

    Example:
        >>> nke.Trajectories([0.0, np.nan, 0.3, 0.4], 0.5).transitions().row
        array([0, 2])
    """

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
        """Pairs each observed row with the next one of its trajectory.

        A row that was not observed is skipped, so that the transition spans the gap with its true step.

        Args:
            states: States of all trajectories, end to end.
            times: Their times.
            observed: Which rows were observed.
            lengths: Numbers of rows of the trajectories.

        Returns:
            The transitions in the order of the rows.

        Example:
            >>> from nke.data import Transitions
            >>> states, times = np.array([[0.0], [1.0], [5.0], [7.0]]), np.array([0.0, 0.1, 0.0, 0.1])
            >>> Transitions.between_rows(states, times, np.full(4, True), np.array([2, 2])).displacement
            array([[1.], [2.]])
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
        """The number of coordinates d.

        Example:
            >>> nke.Trajectories([[0.0, 1.0], [0.1, 1.1]], 0.5).transitions().dimension
            2
        """
        return self.x.shape[1]

    @property
    def displacement(self) -> Float64[np.ndarray, "T d"]:
        """Differences y − x in float64, (T, d): small motions on a large offset would be lost in float32.

        Example:
            >>> nke.Trajectories([1.0, 1.5, 1.25], 0.5).transitions().displacement
            array([[ 0.5 ], [-0.25]])
        """
        return self.y - self.x

    def take(self, index: Shaped[np.ndarray, " n"] | slice) -> "Transitions":
        """Picks some of the transitions.

        Args:
            index: A boolean mask, an array of indices or a slice.

        Returns:
            The transitions in the order of the indices.

        Example:
            >>> len(nke.Trajectories([1.0, 1.5, 1.25], 0.5).transitions().take(slice(1)))
            1
        """
        return type(self)(**{field.name: getattr(self, field.name)[index] for field in fields(self)})

    def regular_step(self, tolerance: float = 1e-6) -> float | None:
        """Returns the step that all transitions share.

        Times far from zero (seconds since 1970) carry a rounding error that their differences inherit;
        steps that differ by no more than it agree as well, as long as it is below 1e-3 of a step.

        Args:
            tolerance: By how much steps may differ, relative to their mean.

        Returns:
            The mean step, or None where the steps differ.

        Example:
            >>> nke.Trajectories([1.0, 1.5, 1.25], 0.5).transitions().regular_step()
            0.5
            >>> nke.Trajectories([1.0, 1.5, 1.25], [0.0, 0.5, 2.0]).transitions().regular_step() is None
            True
        """
        if len(self) == 0:
            return None
        step = float(np.mean(self.step))
        rounding = 4 * float(np.spacing(np.max(np.abs(self.time) + self.step))) / step
        allowed = max(tolerance, min(rounding, 1e-3))
        return step if np.max(np.abs(self.step - step)) <= allowed * step else None
