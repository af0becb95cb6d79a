"""Where jumps happen and how far they go."""

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from nke.data import Trajectories
from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.plots.style import LEARNED, RECORDED, AxesArray, Canvas, grid, outline, per_time, shown, with_unit
from nke.plots.view import View, pair_axes, title
from nke.systems import System

CELLS = 24  # a side
STATES = 30  # whose laws are drawn besides the one in the middle


def jump_rate(
    model: Model, data: Trajectories | None = None, *, truth: System | None = None, figure: Canvas | None = None
) -> AxesArray:
    """λ(x): a curve in one dimension, colours in every plane of two coordinates in more."""
    view = View.of(model, data)
    name = with_unit("jump rate", per_time(model, ""))
    if model.dimension > 1:
        return _colours(model, view, name, figure)
    axes = grid(figure, 1, 1)
    axis, (x, states) = axes[0, 0], view.line(0)
    axis.plot(x, model.jump_rate(states), color=LEARNED, label="model")
    if truth is not None:
        axis.plot(x, np.asarray(truth.jump_rate(states)), "--", color=RECORDED, label="truth")
    view.rug(axis, 0)
    axis.set(xlabel=with_unit(model.names[0], model.units[0]), ylabel=name)
    axis.set_ylim(0, 1.15 * axis.get_ylim()[1])
    axis.legend(frameon=False)
    outline(axis)
    return axes


def _colours(model: Model, view: View, name: str, figure: Canvas | None) -> AxesArray:
    axes, pairs = pair_axes(model, figure)
    planes = [view.plane(i, j, CELLS) for i, j in pairs]
    rates = [np.where(occupied, model.jump_rate(states), np.nan) for states, occupied in planes]
    top = max(float(np.nanmax(rate)) for rate in rates)
    drawn = None
    for axis, (i, j), rate in zip(axes.flat, pairs, rates, strict=True):
        view.backdrop(axis, i, j)
        sides = [np.linspace(view.low[k], view.high[k], CELLS + 1) for k in (i, j)]
        drawn = axis.pcolormesh(*sides, rate, vmin=0, vmax=top, cmap="viridis")
    axes[0, 0].figure.colorbar(drawn, ax=axes, shrink=0.8).set_label(name)
    axes[0, 0].figure.suptitle(title(model, "jump rate where the data is"))
    return axes


def jump_law(
    model: Model, data: Trajectories | None = None, *, truth: System | None = None, figure: Canvas | None = None
) -> AxesArray:
    """Density of the size of one jump in each coordinate, in the middle of the data (bold) and at states around."""
    view = View.of(model, data)
    law, around = model.jump_law(view.centre), model.jump_law(view.states[:STATES])
    count = len(shown(model))
    columns = min(count, 3)
    axes = grid(figure, -(-count // columns), columns)
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    for i, axis in enumerate(axes.flat[:count]):
        size = _sizes(around, i)
        axis.plot(size, _density(around, i, size).T, color=LEARNED, alpha=0.2, linewidth=0.8)
        axis.plot(size, _density(law, i, size), color=LEARNED, linewidth=2, label="model")
        if truth is not None:
            _truth(axis, truth.jump_law(view.centre), i, size)
        name, unit = model.names[i], model.units[i]
        axis.set(xlabel=with_unit(f"jump of {name}", unit), ylim=(0, None))
        axis.set_ylabel("probability density" + (f" [1/{unit}]" if unit else ""))
        outline(axis)
    axes[0, 0].legend(frameon=False)
    axes[0, 0].figure.suptitle("one jump: in the middle of the data (bold) and at states around")
    return axes


def _truth(axis, law: GaussianMixture, i: int, size: Float[np.ndarray, " n"]) -> None:
    if np.asarray(law.covariances)[..., i, i].any():
        axis.plot(size, _density(law, i, size), "--", color=RECORDED, label="truth")
    else:
        axis.axvline(0, linestyle="--", color=RECORDED, label="truth (no jump)")


def _sizes(law: GaussianMixture, i: int) -> Float[np.ndarray, " n"]:
    """A range that holds the law with its tails; components of little weight do not widen it."""
    means, variances = np.asarray(law.means)[..., i], np.asarray(law.covariances)[..., i, i]
    reach = (np.abs(means) + 3.5 * np.sqrt(variances))[np.asarray(law.weights) > 0.02].max()
    return np.linspace(-reach, reach, 301)


def _density(law: GaussianMixture, i: int, size: Float[np.ndarray, " n"]) -> Float[np.ndarray, "*batch n"]:
    means, variances = np.asarray(law.means)[..., i], np.asarray(law.covariances)[..., i, i]
    deviation = np.sqrt(np.where(variances > 0, variances, np.nan))[..., None]
    parts = norm.pdf(size, means[..., None], deviation)
    return np.einsum("...k,...kn->...n", np.asarray(law.weights), np.nan_to_num(parts))
