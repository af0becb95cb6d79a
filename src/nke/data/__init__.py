"""Recorded trajectories, the transitions in them, and the coordinates in which training runs."""

from nke.data import transforms
from nke.data.calendar import Calendar
from nke.data.coordinates import Coordinates
from nke.data.trajectories import Trajectories
from nke.data.transitions import Transitions

__all__ = ["Calendar", "Coordinates", "Trajectories", "Transitions", "transforms"]
