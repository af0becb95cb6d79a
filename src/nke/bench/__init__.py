"""``nke bench``: the paper's experiments, every method beside the score of the true law itself."""
