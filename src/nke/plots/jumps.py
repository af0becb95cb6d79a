"""Where jumps happen and how far they go."""

from typing import Any

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.mixtures import GaussianMixture
from nke.model import Model, as_model
from nke.plots.curve import learned_curve
from nke.plots.numbers import JumpSizes, RatePlane
from nke.plots.numbers.jump_size import size_density
from nke.plots.style import (
    LEARNED,
    RECORDED,
    Axes,
    AxesArray,
    Canvas,
    clipped,
    grid,
    legend_beside,
    one_word,
    outline,
    panels,
    per_time,
    plain,
    shown,
    with_unit,
)
from nke.plots.view import View, pair_axes, title
from nke.systems import System


def jump_rate(
    model: Any, data: Trajectories | None = None, *, truth: System | None = None, figure: Canvas | None = None
) -> AxesArray:
    """Draws λ(x): a curve in one dimension, colours in every plane of two coordinates in more.

    Args:
        model: The model, or the result of a fit.
        data: Trajectories that say where to draw; by default where the model's own data was.
        truth: The true system, drawn beside the model.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes: one, or a panel for every two coordinates.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = nke.plots.jump_rate(model, data, figure=Figure())
        >>> axes[0, 0].get_ylabel()
        'jump rate'
    """
    model = as_model(model)
    view = View.of(model, data)
    name = with_unit("jump rate", per_time(model, ""))
    if model.dimension > 1:
        return _colours(model, view, name, truth, figure)
    axes = grid(figure, 1, 1)
    axis, (x, states) = axes[0, 0], view.line(0)
    learned_curve(axis, model, "jump_rate", states)
    if truth is not None:
        axis.plot(x, np.asarray(truth.jump_rate(states)), "--", color=RECORDED, label="truth")
    view.rug(axis, 0)
    axis.set(xlabel=with_unit(model.names[0], model.units[0]), ylabel=name)
    axis.set_ylim(0, 1.15 * axis.get_ylim()[1])
    axis.legend(frameon=False)
    outline(axis)
    return axes


def _colours(
    model: Model, view: View, name: str, truth: System | None, figure: Canvas | None, side: int = 24
) -> AxesArray:
    """Draws side × side cells in every plane of two coordinates, where there is data."""
    axes, pairs = pair_axes(model, figure)
    planes = [RatePlane.of(model, view, i, j, side) for i, j in pairs]
    top = max(float(np.nanmax(plane.rate)) for plane in planes)
    drawn = None
    for axis, (i, j), (states, rate) in zip(axes.flat, pairs, planes, strict=True):
        view.backdrop(axis, i, j)
        drawn = axis.pcolormesh(states[0, :, i], states[:, 0, j], rate, vmin=0, vmax=top, cmap="viridis")
        if truth is not None:
            _contours(axis, states, np.isfinite(rate), np.asarray(truth.jump_rate(states)), i, j)
    axes[0, 0].figure.colorbar(drawn, ax=axes, shrink=0.8).set_label(name)
    axes[0, 0].figure.suptitle(title(model, "jump rate" if truth is None else "jump rate (lines: truth)"))
    return axes


def _contours(axis: Axes, states: np.ndarray, occupied: np.ndarray, rate: np.ndarray, i: int, j: int) -> None:
    inside = np.where(occupied, rate, np.nan)
    if np.nanmin(inside) == np.nanmax(inside):
        axis.set_title(f"truth: {np.nanmax(inside):g} everywhere")
        return
    axis.clabel(axis.contour(states[0, :, i], states[:, 0, j], inside, levels=5, colors=RECORDED, linewidths=0.8))


def jump_law(
    model: Any, data: Trajectories | None = None, *, truth: System | None = None, figure: Canvas | None = None
) -> AxesArray:
    """Draws the density of the size of one jump in each coordinate, in the middle of the data (bold) and around.

    Args:
        model: The model, or the result of a fit.
        data: Trajectories that say where to draw; by default where the model's own data was.
        truth: The true system, drawn beside the model.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes, a panel for each coordinate.

    Raises:
        InputError: If the model has no jumps, or the data another number of coordinates.

    Example:
        A fitted model with jumps put in by hand:

        >>> from dataclasses import replace
        >>> from matplotlib.figure import Figure
        >>> from nke.operators import Generator, PoissonJump
        >>> law = nke.GaussianMixture([1.0], [[0.0]], [[[0.25]]])
        >>> jump = PoissonJump.from_functions(lambda z: 0.5 + 0 * z[0], lambda z: law)
        >>> with_jumps = Generator(model.generator.advection, model.generator.diffusion, jump)
        >>> axes = nke.plots.jump_law(replace(model, generator=with_jumps), data, figure=Figure())
        >>> axes[0, 0].get_ylabel()
        'probability density'
    """
    model = as_model(model)
    view = View.of(model, data)
    axes = panels(figure, len(shown(model)))
    for i, axis, found in zip(shown(model), axes.flat, JumpSizes.of(model, view), strict=False):
        if not found.jumps:
            axis.text(
                0.5,
                0.5,
                f"{plain(clipped(model.names[i]))} does not jump",
                ha="center",
                transform=axis.transAxes,
                color="0.4",
            )
        axis.plot(found.size, found.around.T, color=LEARNED, alpha=0.2, linewidth=0.8)
        axis.plot(found.size, found.middle, color=LEARNED, linewidth=2, label="model")
        if truth is not None:
            _truth(axis, truth.jump_law(view.centre), i, found.size)
        name, unit = clipped(model.names[i]), model.units[i]
        axis.set(xlabel=with_unit(f"jump of {name}", unit), ylim=(0, None))
        axis.set_ylabel("probability density" + (f" [1/{one_word(unit)}]" if unit else ""))
        outline(axis)
    legend_beside(axes)
    axes[0, 0].figure.suptitle("law of one jump (bold: in the middle of the data)")
    return axes


def _truth(axis: Axes, law: GaussianMixture, i: int, size: Float[np.ndarray, " n"]) -> None:
    if np.asarray(law.covariances)[..., i, i].any():
        axis.plot(size, size_density(law, i, size), "--", color=RECORDED, label="truth")
    else:
        axis.axvline(0, linestyle="--", color=RECORDED, label="truth (no jump)")
