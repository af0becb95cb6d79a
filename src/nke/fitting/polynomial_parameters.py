"""The parameters of a polynomial law in one vector: which of them the data supports, and the law as an equation."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from nke.arrays import compiled
from nke.data import Coordinates, Trajectories
from nke.data.transforms import Periodic
from nke.fitting.batches import float32
from nke.fitting.equation import Equation, JumpComponent, JumpLaw, NoiseLaw, Term, coefficient_unit, trigonometric
from nke.fitting.newton import ParameterVector, inverse_information
from nke.operators import Generator, monomial_variables, monomials, trainable


class ParameterGroup(NamedTuple):
    """Parameters of one coefficient that are the same in every state.

    Attributes:
        name: Drift, noise or jumps.
        places: Where they are in the vector.
    """

    name: str
    places: Int[np.ndarray, " n"]


@dataclass(frozen=True)
class PolynomialParameters:
    """The parameters of a law whose drift is a polynomial of x as the user counts it.

    Attributes:
        vector: All of them.
        from_zero: Whether x is counted from the user's zero; otherwise, where that is far, from the mean of the data.
        free: Indices of the coordinates that are learned.
        inputs: Number of columns that the law sees.
    """

    vector: ParameterVector
    from_zero: bool
    free: Int[np.ndarray, " r"]
    inputs: int

    @classmethod
    def of(
        cls,
        generator: Generator,
        zero: Float[np.ndarray, " d"],
        origin_distance: float,
        only_drift: bool = False,
    ) -> "PolynomialParameters":
        """Collects the parameters of a law.

        Args:
            generator: The law.
            zero: The user's zero in the coordinates of training, for each column that the law sees.
            origin_distance: How far it may be from the data to count from it.
            only_drift: Whether noise and jumps stay as they are, so that they may have networks.

        Returns:
            The parameters, all of them active.
        """
        mask = trainable(generator)
        if only_drift:
            mask = eqx.tree_at(lambda g: g.advection, jax.tree.map(lambda _: False, mask), mask.advection)
        from_zero = bool(np.abs(zero).max() <= origin_distance)
        body = _drift(generator).body
        basis = (lambda places: _change_of_basis(places, zero, body.degree, body.pairs)) if from_zero else None
        vector = ParameterVector.of(generator, mask, basis)
        return cls(vector, from_zero, np.array(generator.free(len(zero))), len(zero))

    @property
    def generator(self) -> Generator:
        """The law with these parameters."""
        return self.vector.generator

    @property
    def count(self) -> int:
        """How many of them are not zero."""
        return int(self.vector.active.sum())

    def groups(self) -> list[ParameterGroup]:
        """Lists drift, noise and jumps: their parameters beside the slopes of the drift."""
        _, constants = _drift_places(self.vector.places)
        noise = [a.ravel().astype(int) for a in jax.tree.leaves(self.vector.places.diffusion)]
        jumps = [a.ravel().astype(int) for a in jax.tree.leaves(self.vector.places.jump)]
        named = {"drift": [constants], "noise": noise, "jumps": jumps}
        return [ParameterGroup(name, np.concatenate(places)) for name, places in named.items() if places]

    def supported(self, information: Float[np.ndarray, "p p"], transitions: int) -> "PolynomialParameters":
        """Sets parameters that are not supported by the data to zero, one by one.

        These are coefficients of the drift, correlations of noise and jumps between coordinates, means of jumps. The
        likelihood is taken as quadratic around its maximum. What is dropped costs it less than log(n)/2 each. Where the
        data cannot tell terms apart, the coordinate itself is kept. Where the rest says nothing of the long run, what
        predicts better is kept, from √2 standard errors on (Akaike): the constant of a drift without any term, since
        no growth is no simpler than some growth; and in a loop, where a coordinate drives another that drives it, its
        own damping if nothing else damps it, since a rotation without damping knows no bounds.

        Args:
            information: At the maximum of the likelihood.
            transitions: Their number n.

        Returns:
            The maximum under the restriction.
        """
        known, best = np.diag(information) > 0, self.vector.values
        active = self.vector.active & known
        slopes, constants = _drift_places(self.vector.places)
        itself = np.array([slopes[row, i] for row, i in enumerate(self.free) if i not in self._angles], int)
        others = np.setdiff1d(np.concatenate([constants, slopes.ravel()]), itself)
        others = np.concatenate([others, *self._correlations()])
        if jax.tree.leaves(self.vector.places.jump):
            others = np.concatenate([others, self.vector.places.jump_network.means.ravel().astype(int)])
        while True:
            found, wald = _restricted(best, information, active, known)
            weakest = [places[np.argmin(wald[places])] for places in (others, itself) if len(places)]
            weakest = [place for place in weakest if wald[place] < np.log(transitions)]
            if not weakest:
                break
            active[weakest[0]] = False
        for row, i in enumerate(self.free):
            empty = not active[[constants[row], *slopes[row]]].any()
            place = constants[row] if empty else slopes[row, i]
            if not known[place] or not (empty or self._undamped(active, row)):
                continue
            more = active.copy()
            more[place] = True
            values, wald = _restricted(best, information, more, known)
            if wald[place] > 2 and (empty or values[place] < 0):
                active, found = more, values
        return replace(self, vector=replace(self.vector, values=found, active=active))

    def _undamped(self, active: Bool[np.ndarray, " p"], row: int) -> bool:
        """Whether a coordinate is in a loop with another, or with its position, but in no term of its own drift."""
        body, (slopes, _) = _drift(self.generator).body, _drift_places(self.vector.places)
        products = [v for same in monomial_variables(self.inputs, body.degree, body.pairs) for v in same]
        depends = active[slopes] @ np.array([[i in product for i in range(self.inputs)] for product in products])
        own, constraint = self.free[row], self.generator.constraint
        driven = list(self.free[depends[:, own]])  # by this coordinate
        if constraint is not None:
            driven += [i for i, v in zip(constraint.positions, constraint.velocities, strict=True) if v == own]
        driven += [sine for cosine, sine in body.pairs if cosine in driven]
        return bool(depends[row, driven].any()) and not depends[row, own] and own not in self._angles

    def equation(
        self,
        information: Float[np.ndarray, "p p"],
        data: Trajectories,
        coordinates: Coordinates,
        noise: str | None,
    ) -> Equation:
        """Writes the law in the user's units.

        Args:
            information: At the maximum of the likelihood.
            data: Whose names and units are used.
            coordinates: Those of training.
            noise: Form of the noise if it has few parameters; None where noise and jumps are networks.

        Returns:
            The drift with standard errors, and noise and jumps where they have few parameters.
        """
        on = np.flatnonzero(self.vector.active)
        covariance = inverse_information(information[np.ix_(on, on)])
        law = None if noise is None else _NoiseAndJumps(self, covariance, coordinates)
        sized = [getattr(column, "sized", True) for column in coordinates.transforms]  # others count from their mean
        at_zero = [i in self._angles or (self.from_zero and size) for i, size in enumerate(sized)]
        return Equation(
            data.names,
            data.units,
            data.unit_of_time,
            self._drift_terms(covariance, data, coordinates),
            tuple(0.0 if zero else float(m) for zero, m in zip(at_zero, coordinates.shift, strict=True)),
            None if law is None or noise is None else law.noise(noise),
            None if law is None or self.generator.jump is None else law.jumps(),
            {
                name: transform.period
                for name, transform in zip(data.names, coordinates.transforms, strict=True)
                if isinstance(transform, Periodic)
            },
        )

    @property
    def _angles(self) -> tuple[int, ...]:
        """The coordinates that are angles."""
        constraint = self.generator.constraint
        return () if constraint is None else constraint.periodic

    def _drift_terms(
        self, covariance: Float[np.ndarray, "n n"], data: Trajectories, coordinates: Coordinates
    ) -> dict[str, tuple[Term, ...]]:
        active, values = self.vector.active, self.vector.values
        error = np.zeros(len(values))
        error[active] = np.sqrt(np.diag(covariance))
        drift = _drift(self.generator)
        slopes, constants = _drift_places(self.vector.places)
        pairs, d = drift.body.pairs, coordinates.dimension
        products = [(), *(v for same in monomial_variables(d + len(pairs), drift.body.degree, pairs) for v in same)]
        size, scale = np.asarray(drift.scale.value, np.float64), coordinates.scale
        columns, per_column = list(data.names), np.append(scale, np.ones(len(pairs)))
        columns += [trigonometric("sin", data.names[i], _period(coordinates, i)) for i in self._angles]
        for i in self._angles:
            columns[i], per_column[i] = trigonometric("cos", data.names[i], _period(coordinates, i)), 1.0
        units = {i: unit for i, unit in enumerate(data.units) if i not in self._angles}  # cosines have none
        terms = {}
        for row, i in enumerate(self.free):
            terms[data.names[i]] = tuple(
                Term(
                    float(per := size[row] * scale[i] / coordinates.time_unit / np.prod(per_column[list(product)]))
                    * float(values[place]),
                    float(per * error[place]),
                    tuple(columns[j] for j in product),
                    coefficient_unit(data.units[i], [units[j] for j in product if j in units], data.unit_of_time),
                )
                for place, product in zip([constants[row], *slopes[row]], products, strict=True)
                if active[place]
            )
        return terms

    def _correlations(self) -> list[Int[np.ndarray, " n"]]:
        """Where the factors of noise and jumps have their entries beside the diagonal."""
        i, j = np.tril_indices(len(self.free))
        places = self.vector.places
        factors = [a.reshape(-1, len(i)) for a in jax.tree.leaves(places.diffusion) if a.size]
        if jax.tree.leaves(places.jump):
            factors.append(places.jump_network.factors)
        return [factor[:, i != j].ravel().astype(int) for factor in factors]


def _restricted(
    best: Float[np.ndarray, " p"],
    information: Float[np.ndarray, "p p"],
    active: Bool[np.ndarray, " p"],
    known: Bool[np.ndarray, " p"],
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """The maximum of a quadratic function where some parameters are zero, and squares of the others over their errors.

    Args:
        best: The maximum without the restriction.
        information: The matrix of the function.
        active: Parameters that are not zero.
        known: Parameters that the data says something about.
    """
    on, off = np.flatnonzero(active), np.flatnonzero(~active & known)
    covariance = inverse_information(information[np.ix_(on, on)])
    found, wald = np.zeros_like(best), np.full(len(best), np.inf)
    found[on] = best[on] + covariance @ information[np.ix_(on, off)] @ best[off]
    wald[on] = found[on] ** 2 / np.diag(covariance)
    return found, wald


class _NoiseAndJumps:
    """Noise and jumps in the user's units.

    Standard errors come from the law at θ ± each column of a root of the parameters' covariance: half of the difference
    is how far that direction moves a quantity.
    """

    def __init__(
        self, parameters: PolynomialParameters, covariance: Float[np.ndarray, "n n"], coordinates: Coordinates
    ):
        vector, self._to = parameters.vector, coordinates
        zero = float32(coordinates.to(np.zeros(coordinates.dimension)))
        middle = vector.entries(vector.values)
        root = vector.entries(np.eye(len(vector.values))[:, vector.active]) @ np.linalg.cholesky(covariance)
        points = float32(middle + np.concatenate([0 * root[:, :1], root, -root], axis=1).T)
        found = [np.asarray(a, np.float64) for a in _quantities(vector.unravel, vector.fixed, zero, points)]
        count = root.shape[1]
        self._value = [a[0] for a in found]
        self._error = [np.sqrt(np.sum(((a[1 : 1 + count] - a[1 + count :]) / 2) ** 2, axis=0)) for a in found]
        self._factor: Any = vector.generator.noise_factor

    def noise(self, kind: str) -> NoiseLaw:
        scale, unit = self._to.scale, self._to.time_unit
        if kind == "relative":  # at the user's zero noise is in proportion to the size that counts as zero
            relative = 1 / np.asarray(self._factor.size.value, np.float64)[: len(scale)]
            scale = np.where(np.isin(np.arange(len(scale)), self._factor.sizeless), scale, relative)
        per = np.outer(scale, scale) / unit
        return NoiseLaw(kind, _nested(per * self._value[0]), _nested(per * self._error[0]))

    def jumps(self) -> JumpLaw:
        (_, rate, weights, means, deviations), scale = self._value, self._to.scale
        _, rate_error, _, mean_errors, deviation_errors = self._error
        tables = ((scale * a).tolist() for a in (means, mean_errors, deviations, deviation_errors))
        components = tuple(
            JumpComponent(float(weight), *map(tuple, rows)) for weight, *rows in zip(weights, *tables, strict=True)
        )
        return JumpLaw(float(rate / self._to.time_unit), float(rate_error / self._to.time_unit), components)


@compiled
def _quantities(
    unravel: Callable[[Array], Any], fixed: Any, zero: Float[Array, " d"], points: Float[Array, "n p"]
) -> list[Array]:
    """Diffusion tensor, and rate, weights, means and deviations of the jumps, for every vector of parameters."""

    def one(entries: Float[Array, " p"]) -> list[Array]:
        law: Generator = eqx.combine(unravel(entries), fixed)
        tensor = law.diffusion.tensor(zero)
        if law.jump is None:
            return [tensor]
        jumps = law.jump.law(zero)
        deviations = jnp.sqrt(jnp.diagonal(jumps.covariances, axis1=-2, axis2=-1))
        return [tensor, law.jump.intensity(zero), jumps.weights, jumps.means, deviations]

    return jax.vmap(one)(points)


def _change_of_basis(
    places: Any, origin: Float[np.ndarray, " d"], degree: int, pairs: tuple[tuple[int, int], ...]
) -> Float[np.ndarray, "p p"]:
    """From coefficients of powers of x − origin to those of powers of x, the other parameters as they are."""
    slopes, constants = _drift_places(places)
    matrix = np.eye(sum(a.size for a in jax.tree.leaves(places)))
    points = np.random.default_rng(0).normal(size=(4 * (slopes.shape[1] + 1), len(origin)))
    powers, shifted = (_with_one(monomials(x, degree, pairs)) for x in (points, points - origin))
    expanded = np.linalg.lstsq(powers, shifted, rcond=None)[0]  # (1, powers of x) → (1, powers of x − origin)
    for row, constant in zip(slopes, constants, strict=True):
        here = np.concatenate([[constant], row])
        matrix[np.ix_(here, here)] = expanded
    return matrix


def _drift_places(places: Any) -> tuple[Int[np.ndarray, "r n"], Int[np.ndarray, " r"]]:
    """Where the slopes of the drift and its constants are in the vector."""
    skip = _drift(places).body.skip
    return skip.weight.astype(int), skip.bias.astype(int)


def _drift(generator: Generator) -> Any:
    """The polynomial of a law, or the places of its coefficients."""
    return generator.drift_network


def _period(coordinates: Coordinates, i: int) -> float:
    transform = coordinates.transforms[i]
    assert isinstance(transform, Periodic)
    return transform.period


def _with_one(columns: Float[np.ndarray, "t n"]) -> Float[np.ndarray, "t m"]:
    return np.concatenate([np.ones((len(columns), 1)), columns], axis=1)


def _nested(matrix: Float[np.ndarray, "d d"]) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))
