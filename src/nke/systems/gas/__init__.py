"""Kernels of the rarefied gas, compiled by Numba; they are imported when a gas is first simulated."""
