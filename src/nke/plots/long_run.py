"""The long run: autocorrelation and density of states, recorded beside many simulated data sets."""

from typing import Any

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.errors import InputError
from nke.evaluation.checks import some_paths
from nke.model import Model, as_model
from nke.plots.style import (
    LEARNED,
    RECORDED,
    AxesArray,
    Canvas,
    label,
    legend_above,
    outline,
    panels,
    shown,
    with_unit,
)
from nke.plots.view import require_same_coordinates

REPLICATES = 20  # simulated data sets: the band holds all but the outermost two
BAND = "90 % of simulated data sets"


def autocorrelation(model: Any, data: Trajectories, *, seed: int = 0, figure: Canvas | None = None) -> AxesArray:
    """Draws the autocorrelation of the recorded states, and the band in which that of 20 simulated data sets lies.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        seed: Of the simulated paths.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes, a panel for each coordinate.

    Raises:
        InputError: If the data has another number of coordinates than the model, or no trajectory of 20 rows.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = nke.plots.autocorrelation(model, data, figure=Figure())
        >>> axes[0, 0].get_ylabel()
        'autocorrelation'
    """
    model = as_model(model)
    states, times, simulated = _long_paths(model, data, seed)
    lags = np.unique(np.linspace(0, states.shape[1] // 3, 60).astype(int))
    lagged = lags * float(np.mean(np.diff(times)))
    axes = panels(figure, len(shown(model)))
    for i, axis in zip(shown(model), axes.flat, strict=False):
        drawn = np.array([_correlations(each[..., i], lags) for each in simulated])
        low, middle, high = np.quantile(drawn, (0.05, 0.5, 0.95), axis=0)
        axis.fill_between(
            lagged, low, high, color=LEARNED, alpha=0.25, linewidth=0, label="90 % of simulated data sets"
        )
        axis.plot(lagged, middle, color=LEARNED, label="model")
        axis.plot(lagged, _correlations(states[..., i], lags), color=RECORDED, label="recorded")
        axis.axhline(0, color="0.6", linewidth=0.8)
        axis.set(xlabel=with_unit("time between", model.unit_of_time), ylabel="autocorrelation")
        axis.set_title(model.names[i], fontsize="small", loc="left")
        outline(axis)
    legend_above(axes[0, 0])
    return axes


def stationary(model: Any, data: Trajectories, *, seed: int = 0, figure: Canvas | None = None) -> AxesArray:
    """Draws the density of the recorded states over all times, and the band of that of 20 simulated data sets.

    In one dimension also the effective potential −log p of both: its valleys are where the system stays.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        seed: Of the simulated paths.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes, a panel for each coordinate; in one dimension density and potential.

    Raises:
        InputError: If the data has another number of coordinates than the model, or no trajectory of 20 rows.

    Example:
        >>> from matplotlib.figure import Figure
        >>> nke.plots.stationary(model, data, figure=Figure()).shape
        (1, 2)
    """
    model = as_model(model)
    states, _, simulated = _long_paths(model, data, seed)
    axes = panels(figure, 2 if model.dimension == 1 else len(shown(model)))
    for i, axis in zip(shown(model), axes.flat, strict=False):
        everything = np.concatenate([states[..., i].ravel(), simulated[..., i].ravel()])
        lowest, highest = np.quantile(everything, (0.001, 0.999)).tolist()
        edges = np.linspace(lowest, highest, int(np.clip(states.size ** (1 / 3), 12, 40)) + 1)
        middles = (edges[1:] + edges[:-1]) / 2
        true = np.histogram(states[..., i], edges, density=True)[0]
        drawn = np.array([np.histogram(each[..., i], edges, density=True)[0] for each in simulated])
        (low, high), mean = np.quantile(drawn, (0.05, 0.95), axis=0), drawn.mean(axis=0)
        axis.fill_between(
            middles, low, high, color=LEARNED, alpha=0.25, linewidth=0, label="90 % of simulated data sets"
        )
        axis.plot(middles, mean, color=LEARNED, label="model")
        axis.stairs(true, edges, color=RECORDED, label="recorded")
        axis.set(xlabel=label(model, i), ylabel="probability density", ylim=(0, None))
        outline(axis)
        if model.dimension == 1:
            _potential(axes[0, 1], middles, true, mean)
            axes[0, 1].set(xlabel=label(model, 0), ylabel="effective potential −log p")
            outline(axes[0, 1])
    legend_above(axes[0, 0])
    return axes


def _potential(axis: Any, x: np.ndarray, true: np.ndarray, drawn: np.ndarray) -> None:
    for density, colour in ((drawn, LEARNED), (true, RECORDED)):
        seen = density > 0
        level = -np.log(density[seen])
        axis.plot(x[seen], level - level.min(), color=colour)


def _long_paths(
    model: Model, data: Trajectories, seed: int
) -> tuple[Float[np.ndarray, "m t d"], Float[np.ndarray, " t"], Float[np.ndarray, "r m t d"]]:
    """Recorded paths on common times, and as many simulated ones from the same starts, many times over."""
    require_same_coordinates(model, data)
    recorded = some_paths(data)
    if recorded is None:
        raise InputError("expected a trajectory with 20 observed rows, over which states forget where they came from")
    states, times = recorded.states, recorded.times
    drawn = model.sample(np.tile(states[:, 0], (REPLICATES, 1)), times, seed=seed)
    return states, times, np.nan_to_num(drawn.reshape(REPLICATES, *states.shape))


def _correlations(x: Float[np.ndarray, "m t"], lags: np.ndarray) -> Float[np.ndarray, " n"]:
    """Correlation of states over each number of rows."""
    centred = x - x.mean()
    variance = max(float(np.mean(centred**2)), 1e-300)
    return np.array([np.mean(centred[:, k:] * centred[:, : x.shape[1] - k]) / variance for k in lags])
