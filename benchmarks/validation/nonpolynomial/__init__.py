"""Systems whose laws are no polynomials: errors, roll-outs and times beside what the data allows."""

from benchmarks.validation.nonpolynomial.command import main

__all__ = ["main"]
