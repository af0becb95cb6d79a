"""Longer validation: what the documentation states, measured, beside what it is to be.

``make verify``, or from the root of the repository ``python -m benchmarks.validation [name ...]``.
"""
