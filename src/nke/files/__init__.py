"""Trajectories from and to files and the objects of pandas and xarray."""

from nke.files.dataset import to_xarray
from nke.files.entry import read, write
from nke.files.frame import to_pandas

__all__ = ["read", "to_pandas", "to_xarray", "write"]
