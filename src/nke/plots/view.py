"""Where to draw a coefficient: along lines and planes through the middle of the data, within its reach."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float

from nke.data import Trajectories
from nke.errors import InputError
from nke.model import Model
from nke.plots.style import FAINT, Axes, AxesArray, Canvas, label, panels, shown


@dataclass(frozen=True)
class View:
    """A part of the state space: its bounds, its middle, and states that fill it."""

    states: Float[np.ndarray, "n d"]
    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]
    centre: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, model: Model, data: Trajectories | None, most: int = 5000) -> "View":
        """Views at most ``most`` states of the data; without any, a normal cloud where the model's data was."""
        rng = np.random.default_rng(0)
        if data is None:
            states = model.coordinates.back(rng.standard_normal((2000, model.dimension)))
        else:
            require_same_coordinates(model, data)
            states = data.observed_states
        if len(states) > most:
            states = states[rng.choice(len(states), most, replace=False)]
        low, high = np.percentile(states, (0.5, 99.5), axis=0)
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        return cls(states, low - margin, high + margin, np.median(states, axis=0))

    def line(self, i: int, count: int = 201) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n d"]]:
        """Values of coordinate i, and the states along it with all others at their medians."""
        values = np.linspace(self.low[i], self.high[i], count)
        states = np.tile(self.centre, (count, 1))
        states[:, i] = values
        return values, states

    def plane(self, i: int, j: int, count: int) -> tuple[Float[np.ndarray, "n n d"], Bool[np.ndarray, "n n"]]:
        """States in the middles of count × count cells (first axis: coordinate j), and which cells hold data.

        The other coordinates are the mean of the data in the cell: a state that the system comes close to.
        """
        edges = [np.linspace(self.low[k], self.high[k], count + 1) for k in (j, i)]
        place = self.states[:, j], self.states[:, i]
        held = np.histogram2d(*place, bins=edges)[0]
        sums = [np.histogram2d(*place, bins=edges, weights=column)[0] for column in self.states.T]
        states = np.stack(sums, axis=-1) / np.maximum(held, 1)[..., None]
        middles = [(edge[1:] + edge[:-1]) / 2 for edge in edges]
        states[..., j], states[..., i] = middles[0][:, None], middles[1][None]
        return states, held > 0

    def backdrop(self, axis: Axes, i: int, j: int) -> None:
        """Draws the data in the plane of two coordinates behind everything else."""
        axis.plot(*self.states[:, [i, j]].T, ".", color=FAINT, markersize=1.5, zorder=0, rasterized=True)
        axis.set(xlim=(self.low[i], self.high[i]), ylim=(self.low[j], self.high[j]), box_aspect=1)

    def rug(self, axis: Axes, i: int) -> None:
        """Draws the density of the data along coordinate i at the lower edge."""
        height, edges = np.histogram(self.states[:, i], bins=60, range=(self.low[i], self.high[i]))
        axis.stairs(
            0.15 * height / max(height.max(), 1), edges, fill=True, color=FAINT, transform=axis.get_xaxis_transform(),
            zorder=0, label="data",
        )  # fmt: skip
        axis.set_xlim(self.low[i], self.high[i])


def require_same_coordinates(model: Model, data: Trajectories) -> None:
    """Raises an ``InputError`` unless the data has as many coordinates as the model."""
    if data.dimension != model.dimension:
        raise InputError(
            f"expected data with {model.dimension} coordinates ({', '.join(model.names)}), but got {data.dimension}"
        )


def pair_axes(model: Model, figure: Canvas | None) -> tuple[AxesArray, list[tuple[int, int]]]:
    """Makes an axis for every two coordinates, with their names."""
    pairs = list(combinations(shown(model), 2))
    axes = panels(figure, len(pairs))
    for axis, (i, j) in zip(axes.flat, pairs, strict=True):
        axis.set(xlabel=label(model, i), ylabel=label(model, j))
    return axes, pairs


def title(model: Model, words: str) -> str:
    """A title that says, where it applies, what the coordinates are that are not shown."""
    return words if model.dimension < 3 else f"{words}\nother coordinates at their mean nearby"
