"""Kernels of the rarefied gas, compiled by Numba: a module here is imported when a gas is first simulated."""
