"""Trajectories from and to files and the objects of pandas and xarray."""

from nke.files.dataset import to_xarray
from nke.files.entry import read, write
from nke.files.frame import to_pandas
from nke.files.recorded import recorded

__all__ = ["read", "recorded", "to_pandas", "to_xarray", "write"]
