"""What the repository holds besides the package: stored results of ``nke bench``, longer validation, other libraries."""
