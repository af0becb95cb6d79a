"""Recorded trajectories, the transitions in them, and the coordinates in which training runs."""

from nke.data import transforms
from nke.data.coordinates import Coordinates
from nke.data.trajectories import Trajectories
from nke.data.transitions import Transitions

__all__ = ["Coordinates", "Trajectories", "Transitions", "transforms"]
