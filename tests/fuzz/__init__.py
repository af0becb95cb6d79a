"""Damaged and crafted files, thrown at every reader under limits of memory and time: ``python -m tests.fuzz``."""
