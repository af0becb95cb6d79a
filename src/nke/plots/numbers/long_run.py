"""The long run: recorded paths beside many simulated data sets from the same starts."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.errors import InputError
from nke.evaluation.checks import some_paths
from nke.model import Model
from nke.plots.view import require_same_coordinates

REPLICATES = 20  # simulated data sets: the band holds all but the outermost two
BAND = "90 % of simulated data sets"


class Band(NamedTuple):
    """A statistic of the recorded data, and where that of simulated data sets lies.

    Attributes:
        at: Where it is taken: lags, or the middles of bins.
        recorded: Of the recorded data.
        low: Lower end of the band that holds 90 % of the simulated data sets.
        middle: Median of an autocorrelation, mean of a density.
        high: Upper end of the band.
    """

    at: Float[np.ndarray, " n"]
    recorded: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    middle: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]


class LongRun(NamedTuple):
    """Recorded paths on common times, and simulated ones from the same starts, many times over.

    Attributes:
        states: Recorded.
        times: Common to all.
        simulated: As many, once for each simulated data set.

    Example:
        >>> run = nke.plots.numbers.LongRun.of(model, data)
        >>> band = run.autocorrelation(0)
        >>> float(band.recorded[0]), bool((band.low <= band.high).all())
        (1.0, True)
    """

    states: Float[np.ndarray, "m t d"]
    times: Float[np.ndarray, " t"]
    simulated: Float[np.ndarray, "r m t d"]

    @classmethod
    def of(cls, model: Model, data: Trajectories, seed: int = 0) -> "LongRun":
        """Simulates the recorded data 20 times.

        Args:
            model: The model.
            data: Recorded trajectories.
            seed: Of the simulated paths.

        Returns:
            Both.

        Raises:
            InputError: If the data has another number of coordinates than the model, or no trajectory of 20 rows.
        """
        require_same_coordinates(model, data)
        recorded = some_paths(data)
        if recorded is None:
            raise InputError("expected a trajectory with 20 observed rows, over which states forget where they began")
        states, times = recorded.states, recorded.times
        drawn = model.sample(np.tile(states[:, 0], (REPLICATES, 1)), times, seed=seed)
        return cls(states, times, np.nan_to_num(drawn.reshape(REPLICATES, *states.shape)))

    def autocorrelation(self, i: int) -> Band:
        """Computes the autocorrelation of a coordinate over a third of the length of the paths."""
        lags = np.unique(np.linspace(0, self.states.shape[1] // 3, 60).astype(int))
        drawn = np.array([_correlations(each[..., i], lags) for each in self.simulated])
        low, middle, high = np.quantile(drawn, (0.05, 0.5, 0.95), axis=0)
        return Band(
            lags * float(np.mean(np.diff(self.times))), _correlations(self.states[..., i], lags), low, middle, high
        )

    def density(self, i: int) -> Band:
        """Computes the density of a coordinate over all times."""
        states = self.states[..., i]
        everything = np.concatenate([states.ravel(), self.simulated[..., i].ravel()])
        lowest, highest = np.quantile(everything, (0.001, 0.999)).tolist()
        edges = np.linspace(lowest, highest, int(np.clip(states.size ** (1 / 3), 12, 40)) + 1)
        true = np.histogram(states, edges, density=True)[0]
        drawn = np.array([np.histogram(each[..., i], edges, density=True)[0] for each in self.simulated])
        low, high = np.quantile(drawn, (0.05, 0.95), axis=0)
        return Band((edges[1:] + edges[:-1]) / 2, true, low, drawn.mean(axis=0), high)


def effective_potential(density: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """−log p from its lowest value; NaN where nothing was."""
    with np.errstate(divide="ignore"):
        level = np.where(density > 0, -np.log(density), np.nan)
    return level - np.nanmin(level)


def _correlations(x: Float[np.ndarray, "m t"], lags: np.ndarray) -> Float[np.ndarray, " n"]:
    """Correlation of states over each number of rows."""
    centred = x - x.mean()
    variance = max(float(np.mean(centred**2)), 1e-300)
    return np.array([np.mean(centred[:, k:] * centred[:, : x.shape[1] - k]) / variance for k in lags])
