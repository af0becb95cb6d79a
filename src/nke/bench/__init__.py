"""Longer validation and benchmarks."""
