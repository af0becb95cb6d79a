"""Stored results of ``nke bench``, longer validation, and other libraries beside nke; no part of the package."""
