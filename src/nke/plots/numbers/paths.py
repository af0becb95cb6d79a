"""Simulated paths to stand beside recorded ones."""

from nke.data import Trajectories
from nke.evaluation import simulate_like
from nke.model import Model

FEW = 4  # recorded paths are few: each is simulated so many times
MOST_TIMES = 2000  # of a simulated path in a picture


def simulated_paths(
    model: Model, data: Trajectories, seed: int = 0, first: Trajectories | None = None
) -> list[Trajectories]:
    """Simulates recorded paths; one path may be any, so that few are simulated several times from the same start.

    Args:
        model: The model.
        data: Recorded paths.
        seed: Of the simulated paths.
        first: Simulated before; the others are added to it.

    Returns:
        One or more simulations of the data.
    """
    drawn = [simulate_like(model, data, seed, most_times=MOST_TIMES) if first is None else first]
    more = range(1, FEW) if len(data) < FEW else ()
    return drawn + [simulate_like(model, data, seed + k, most_times=MOST_TIMES) for k in more]
