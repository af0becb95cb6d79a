"""``python -m nke.cli``: the same as the console script."""

from nke.cli.main import main

main()
