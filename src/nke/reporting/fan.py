"""A forecast beside what was recorded afterwards."""

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.evaluation.evaluate import is_ensemble
from nke.model import Forecast, Model
from nke.plots.numbers.histogram import ENSEMBLE

TIMES, COMPONENTS = 20, 32  # of the forecast
LAST, MOST_ROWS = 0.2, 60  # of a single path: the part of it that is forecast, and most rows of that


@dataclass(frozen=True, eq=False)
class Fan:
    """The forecast from a recorded start, and the states that were recorded at its times.

    Attributes:
        forecast: The density of the state at some times.
        initial: States of each trajectory at the start.
        recorded: States of each trajectory at these times, one trajectory or many.
        start: Time of the start in the data.
        words: What is forecast from where.
        warnings: What the forecast warns of.
    """

    forecast: Forecast
    initial: Float[np.ndarray, "m d"]
    recorded: Float[np.ndarray, "m t d"]
    start: float
    words: str
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: Model, data: Trajectories) -> "Fan":
        """Forecasts an ensemble from all of its start states, or the end of the longest single path.

        Args:
            model: The model.
            data: Recorded trajectories.

        Returns:
            The forecast and what was recorded.

        Raises:
            DivergenceError: If the density does not stay finite.
            InputError: If there is no path to forecast.

        Example:
            >>> from nke.reporting.fan import Fan
            >>> fan = Fan.of(model, data.select(0))
            >>> fan.recorded.shape == (1, len(fan.forecast.times), 1)
            True
        """
        if is_ensemble(data) and len(data) >= ENSEMBLE:
            states, times = np.asarray(data.states), np.asarray(data.times)[0]
            start, words = 0, f"from the start states of all {len(data)} trajectories"
            initial = states[:, 0]
        else:
            states, times = _longest(data)
            start = max(len(times) - 1 - int(np.clip(LAST * len(times), 2, MOST_ROWS)), 0)
            initial, words = states[0, start], "from one recorded state, and what was recorded after it"
        rows = np.unique(np.linspace(start + 1, len(times) - 1, TIMES).round().astype(int))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = model.forecast(initial, times[rows] - times[start], COMPONENTS)
        told = tuple(dict.fromkeys(str(each.message) for each in caught if each.category is UserWarning))
        return cls(found, states[:, start], states[:, rows], float(times[start]), words, told)

    @property
    def times(self) -> Float[np.ndarray, " t"]:
        """The times of the forecast, counted as in the data."""
        return self.start + self.forecast.times

    @property
    def is_ensemble(self) -> bool:
        """Whether there are many recorded states at each time."""
        return len(self.recorded) > 1

    @property
    def trajectories(self) -> Trajectories:
        """What was recorded, from the start on."""
        states = np.concatenate([self.initial[:, None], self.recorded], axis=1)
        return Trajectories(states, np.concatenate([[0.0], self.forecast.times]))


def _longest(data: Trajectories) -> tuple[Float[np.ndarray, "1 t d"], Float[np.ndarray, " t"]]:
    """The observed rows of the trajectory that has most of them."""
    kept = [np.flatnonzero(seen) for seen in data.observed]
    m = int(np.argmax([len(rows) for rows in kept]))
    return np.asarray(data.states[m])[None, kept[m]], np.asarray(data.times[m])[kept[m]]
