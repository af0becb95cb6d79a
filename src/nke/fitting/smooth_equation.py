"""The equation of a smooth law that needs no kernels: powers of logarithms, and the columns themselves."""

from collections.abc import Iterator
from typing import cast

import numpy as np
from jaxtyping import Float

from nke.data import Coordinates, Trajectories
from nke.fitting.equation import Equation, Term, coefficient_unit, inverse_of, itself
from nke.operators import Generator, SmoothBasis, SmoothDrift, monomial_variables


def smooth_equation(
    generator: Generator, errors: Float[np.ndarray, "r f"], data: Trajectories, coordinates: Coordinates
) -> Equation | None:
    """Writes the drift of a smooth law as terms in the user's units.

    Args:
        generator: The law.
        errors: Standard errors of the weights of its drift.
        data: Whose names and units are used, transformed as the law was learned.
        coordinates: Those of training.

    Returns:
        The equation, noise and jumps left to a table; None where the drift has kernels or depends on angles.
    """
    drift = cast(SmoothDrift, generator.drift_network)
    basis, table = drift.body.basis, drift.body.table
    curves = basis.size - len(basis.curves)
    if basis.pairs or not basis.curves or table[:, basis.powers : curves].any():
        return None
    written = [*enumerate(_powers(basis, coordinates, data)), *enumerate(_curves(basis, coordinates, data), curves)]
    terms = {}
    for row, i in enumerate(generator.free(coordinates.dimension)):
        per = float(drift.scale.value[row] * coordinates.scale[i] / coordinates.time_unit)
        terms[data.names[i]] = tuple(
            Term(
                per * size * float(table[row, place]),
                per * size * float(errors[row, place]),
                variables,
                coefficient_unit(data.units[i], units, data.unit_of_time),
            )
            for place, (size, variables, units) in written
            if table[row, place]
        )
    origin = tuple(float(m) for m in coordinates.shift)
    return Equation(data.names, data.units, data.unit_of_time, terms, origin)


def _powers(
    basis: SmoothBasis, coordinates: Coordinates, data: Trajectories
) -> Iterator[tuple[float, tuple[str, ...], list[str]]]:
    """Each product of powers: what one of it is worth, its variables and their units."""
    products = [(), *(v for same in monomial_variables(coordinates.dimension, basis.degree, ()) for v in same)]
    for product in products:
        size = float(np.prod(coordinates.scale[list(product)])) if product else 1.0
        yield 1 / size, tuple(data.names[j] for j in product), [data.units[j] for j in product]


def _curves(
    basis: SmoothBasis, coordinates: Coordinates, data: Trajectories
) -> Iterator[tuple[float, tuple[str, ...], list[str]]]:
    """Each exponential of a logarithm: the column itself, or one over it."""
    for curve in basis.curves:
        middle = float(coordinates.shift[curve.column] + curve.zero * coordinates.scale[curve.column])
        side, name = (1 if curve.size > 0 else -1), data.names[curve.column]
        yield float(np.exp(-side * middle)), (itself(name) if side > 0 else inverse_of(name),), [""]
