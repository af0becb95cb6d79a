"""The command line ``nke``: one file per command."""

from nke.cli.main import main

__all__ = ["main"]
