"""Laws with few parameters: maximum likelihood by Newton's method, and whether they leave anything over.

All of it rests on the scores s_i = ∂ log p(y_i | x_i) / ∂θ of single transitions. The sum of s sᵀ is the information,
so that a step of Newton's method is (Σ s sᵀ)⁻¹ Σ s. And if the law is right, the mean of s vanishes in every part of
the state space: how far it is from that says how many nats a richer law would gain at least.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from nke.model.simulation import sample
from nke.operators import Generator, KineticDrift, Strang, TransitionRule, monomial_variables, monomials, trainable

BATCH = 1 << 13  # transitions at a time
ITERATIONS = 8
CONVERGED = 0.02  # nats that another step would gain, all transitions together
ROUGHLY = 1.0  # likewise, before terms are dropped that cost a few
FROM_AFAR, NEAR = 40, 5.0  # the same of one batch: chance moves its maximum by more
HALVINGS, STUCK = 8, 4  # of a step that gains nothing, and from which on little gained does not mean little to gain
ROUNDING = 1e-12  # of sums over all transitions
HELD = 1.0  # information with which every parameter is held where it is
CELLS = 64  # parts of the state space, at most
FEWEST = 100  # transitions in each that say something
LEFT = 20.0  # nats that may be left over beyond three standard deviations: networks cost more by their own errors
BEYOND_CHANCE = 3.0
PATHS, LONG = 256, 128  # that are simulated to see whether they run away, and their steps
AWAY = 100.0  # times as far as the farthest state of the data
FAR = 10.0  # standard deviations from the data beyond which the user's zero is no place to count from


class Sums(NamedTuple):
    """Over transitions: of the log density, of its derivatives by the parameters, of their products."""

    value: float
    gradient: Float[np.ndarray, " p"]
    information: Float[np.ndarray, "p p"]


class Term(NamedTuple):
    """A coefficient, its standard error, and the coordinates whose product it is of."""

    coefficient: float
    error: float
    variables: tuple[int, ...]


class Group(NamedTuple):
    """Parameters of one coefficient that are the same in every state."""

    name: str
    parameters: Int[np.ndarray, " n"]


class LeftOver(NamedTuple):
    """Nats that a coefficient might gain by depending on the state otherwise, about, and what chance alone gives."""

    nats: float
    chance: float

    @property
    def nothing(self) -> bool:
        return self.nats < LEFT + BEYOND_CHANCE * self.chance

    def __str__(self) -> str:
        return f"{self.nats:.0f} ± {self.chance:.0f}"


class FewParameters:
    """A generator of few parameters, all of them in one vector: drift by powers of x as the user counts it.

    ``origin`` is the user's zero in the coordinates of training. Those that are not ``active`` are zero. With
    ``only_drift`` noise and jumps stay as they are, so that they may have networks.
    """

    def __init__(
        self, rule: TransitionRule, generator: Generator, origin: Float[np.ndarray, " d"], only_drift: bool = False
    ):
        free = trainable(generator)
        if only_drift:
            free = eqx.tree_at(lambda g: g.advection, jax.tree.map(lambda _: False, free), free.advection)
        self._trained, self._fixed = eqx.partition(generator, free)
        self._rule, self._origin = rule, origin
        self._free = np.arange(len(origin)) if generator.constraint is None else np.array(generator.constraint.free)
        vector, self._unravel = ravel_pytree(self._trained)
        self._places = jax.tree.map(np.asarray, self._unravel(jnp.arange(len(vector), dtype=jnp.float32)))
        self._to_vector = self._change_of_basis(len(vector), origin)
        self.parameters: Float[np.ndarray, " p"] = np.linalg.solve(self._to_vector, np.asarray(vector, np.float64))
        self.active = np.ones(len(vector), bool)

    @property
    def generator(self) -> Generator:
        return eqx.combine(self._tree(self.parameters), self._fixed)

    def _tree(self, parameters: Float[np.ndarray, " p"]) -> Any:
        return self._unravel(jnp.asarray(self._to_vector @ parameters, jnp.float32))

    def _change_of_basis(self, count: int, origin: Float[np.ndarray, " d"]) -> Float[np.ndarray, "p p"]:
        """From coefficients of powers of x − origin to those of powers of x, the other parameters as they are."""
        matrix, slopes, constants = np.eye(count), *self._drift_places()
        degree = _inner(self._trained.advection.drift).body.degree
        if not from_zero(origin):
            return matrix
        points = np.random.default_rng(0).normal(size=(4 * (slopes.shape[1] + 1), len(origin)))
        powers, shifted = (_with_one(monomials(x, degree)) for x in (points, points - origin))
        expanded = np.linalg.lstsq(powers, shifted, rcond=None)[0]  # (1, powers of x) → (1, powers of x − origin)
        for row, constant in zip(slopes, constants, strict=True):
            places = np.concatenate([[constant], row])
            matrix[np.ix_(places, places)] = expanded
        return matrix

    def _drift_places(self) -> tuple[Int[np.ndarray, "r n"], Int[np.ndarray, " r"]]:
        """Where the coefficients of the drift and its constants are in the vector."""
        skip = _inner(self._places.advection.drift).body.skip
        return skip.weight.astype(int), skip.bias.astype(int)

    def approach(self, data: Any, report: Callable[[int], None] = lambda iterations: None) -> bool:
        """Newton's method from afar, over few transitions; whether it came close to their maximum."""
        try:
            return self._climb(data, FROM_AFAR, NEAR, report)[1]
        except FloatingPointError:
            return False

    def maximise(
        self,
        data: Any,
        iterations: int = ITERATIONS,
        enough: float = CONVERGED,
        report: Callable[[int], None] = lambda iterations: None,
    ) -> Float[np.ndarray, "p p"]:
        """Newton's method over the active parameters, until a step gains no more than ``enough`` nats.

        ``data``: states, displacements, steps. Gives the information; raises FloatingPointError where it is not finite.
        """
        return self._climb(data, iterations, enough, report)[0].information

    def _climb(self, data: Any, iterations: int, enough: float, report: Callable[[int], None]) -> tuple[Sums, bool]:
        """Sums at the last parameters, and whether another step would gain no more than ``enough``."""
        now, on, settled = self._sums(self.parameters, data), self.active, False
        for _ in range(iterations):
            gradient = now.gradient[on]
            step = inverse_information(now.information[np.ix_(on, on)]) @ gradient
            if settled or gradient @ step / 2 < enough:
                settled = True
                break
            for halving in range(HALVINGS):
                trial = self.parameters.copy()
                trial[on] += step / 2**halving
                new = self._sums(trial, data)
                if new.value > now.value and np.isfinite(new.information).all():
                    break
            else:
                break
            settled = halving < STUCK and new.value - now.value < enough
            self.parameters, now = trial, new
            report(1)
        if not np.isfinite(now.information).all():
            raise FloatingPointError("the likelihood or its derivatives are not finite")
        return now, settled

    def scores(self, data: Any) -> Float[np.ndarray, "t p"]:
        """Of every transition."""
        return np.concatenate([score for _, score in self._scored(self.parameters, data)])

    def log_prob(self, data: Any) -> Float[np.ndarray, " t"]:
        """Likewise, by the program that gives the scores: another one would take longer to compile than to run."""
        return np.concatenate([value for value, _ in self._scored(self.parameters, data)])

    def _sums(self, parameters: Float[np.ndarray, " p"], data: Any) -> "Sums":
        parts = [Sums(value.sum(), s.sum(axis=0), s.T @ s) for value, s in self._scored(parameters, data)]
        return Sums(*(np.sum(side, axis=0) for side in zip(*parts, strict=True)))

    def _scored(self, parameters: Float[np.ndarray, " p"], data: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Log densities and scores, a batch at a time."""
        trained, arrays, count = self._tree(parameters), [np.asarray(a) for a in data], len(data.step)
        for begin in range(0, count, BATCH):
            # All of one size, the last one filled up: a remainder would be compiled a second time.
            part = [a[begin : begin + BATCH] for a in arrays]
            whole = [jnp.asarray(np.resize(a, (BATCH, *a.shape[1:]))) for a in part]
            value, score = (np.asarray(a, np.float64) for a in _scores(self._rule, trained, self._fixed, *whole))
            yield value[: count - begin], score[: count - begin] @ self._to_vector

    def drop(self, information: Float[np.ndarray, "p p"], transitions: int) -> None:
        """What the data does not ask for is set to zero, one by one.

        That are coefficients of the drift, correlations of noise and jumps between coordinates, means of jumps.

        The likelihood is taken as quadratic around its maximum. What is dropped costs it less than log(n)/2 each. Where
        the data cannot tell terms apart, the coordinate itself is kept.
        """
        known, best = np.diag(information) > 0, self.parameters
        self.active &= known
        slopes, constants = self._drift_places()
        itself = np.diag(slopes[:, self._free])
        others = np.setdiff1d(np.concatenate([constants, slopes.ravel()]), itself)
        others = np.concatenate([others, *self._correlations()])
        if jax.tree.leaves(self._places.jump):
            others = np.concatenate([others, self._places.jump.network.means.ravel().astype(int)])
        while True:
            on, off = np.flatnonzero(self.active), np.flatnonzero(~self.active & known)
            spread = inverse_information(information[np.ix_(on, on)])
            found = np.zeros_like(best)  # the maximum under the restriction, from the one without it
            found[on] = best[on] + spread @ information[np.ix_(on, off)] @ best[off]
            telling = np.full(len(best), np.inf)
            telling[on] = found[on] ** 2 / np.diag(spread)
            weakest = [places[np.argmin(telling[places])] for places in (others, itself)]
            weakest = [place for place in weakest if telling[place] < np.log(transitions)]
            if not weakest:
                self.parameters = found
                return
            self.active[weakest[0]] = False

    def _correlations(self) -> list[Int[np.ndarray, " n"]]:
        """Where the factors of noise and jumps have their entries beside the diagonal."""
        i, j = np.tril_indices(len(self._free))
        factors = [a.reshape(-1, len(i)) for a in jax.tree.leaves(self._places.diffusion) if a.size]
        if jax.tree.leaves(self._places.jump):
            factors.append(self._places.jump.network.factors)
        return [factor[:, i != j].ravel().astype(int) for factor in factors]

    def drift_terms(self, information: Float[np.ndarray, "p p"]) -> "list[list[Term]]":
        """Of every coordinate, in those of training, counted from the user's zero."""
        on, error = np.flatnonzero(self.active), np.zeros(len(self.parameters))
        error[on] = np.sqrt(np.diag(inverse_information(information[np.ix_(on, on)])))
        drift, (slopes, constants) = _inner(self.generator.advection.drift), self._drift_places()
        variables = [(), *(v for same in monomial_variables(len(self._origin), drift.body.degree) for v in same)]
        size = np.asarray(drift.scale.value, np.float64)
        return [
            [
                Term(size[k] * self.parameters[i], size[k] * error[i], v)
                for i, v in zip([constants[k], *slopes[k]], variables, strict=True)
                if self.active[i]
            ]
            for k in range(len(size))
        ]

    def groups(self) -> list[Group]:
        """Drift, noise and jumps: their parameters beside the slopes of the drift."""
        _, constants = self._drift_places()
        noise = [a.ravel().astype(int) for a in jax.tree.leaves(self._places.diffusion)]
        jumps = [a.ravel().astype(int) for a in jax.tree.leaves(self._places.jump)]
        named = {"drift": [constants], "noise": noise, "jumps": jumps}
        return [Group(name, np.concatenate(places)) for name, places in named.items() if places]


def runs_away(generator: Generator, x: Float[np.ndarray, "t d"], step: float) -> bool:
    """Whether simulated paths leave the data by far: powers of the state may, beyond the data they were fitted to."""
    starts = x[np.linspace(0, len(x) - 1, min(PATHS, len(x))).astype(int)]
    steps, counts = np.full(LONG, step, np.float32), np.ones(LONG, int)
    paths = sample(generator, Strang(), jnp.asarray(starts, jnp.float32), steps, counts, jax.random.key(0), refine=True)
    widest = np.abs(x - x.mean(axis=0)).max(axis=0)
    inside = np.abs(paths - x.mean(axis=0)) <= AWAY * np.where(widest > 0, widest, np.inf)
    return not inside.all()


def left_over(
    score: Float[np.ndarray, "t n"], x: Float[np.ndarray, "t d"], alike: bool, telling: float = 1.0
) -> LeftOver:
    """The score test against parameters that differ from cell to cell of the states.

    ``alike``: the information about them is the same in every state, so that the one of all transitions is taken, which
    is known better than that of a cell. ``telling``: the share of the transitions that say something about them.
    """
    whole, statistic, freedom = score.T @ score / len(score), 0.0, 0
    for cell in cells(x, telling):
        s = score[cell]
        information, gradient = len(cell) * whole if alike else s.T @ s, s.sum(axis=0)
        statistic += float(gradient @ inverse_information(information) @ gradient)
        freedom += int(np.linalg.matrix_rank(information, hermitian=True))
    return LeftOver((statistic - freedom) / 2, float(np.sqrt(freedom / 2)))


def cells(x: Float[np.ndarray, "t d"], telling: float = 1.0) -> list[Int[np.ndarray, " n"]]:
    """Indices of states that are close to each other, as many in each cell: halves of halves across the widest side."""
    parts = [np.arange(len(x))]
    while len(parts) < CELLS and telling * len(x) >= 2 * FEWEST * len(parts):
        parts = [half for part in parts for half in _halves(x, part)]
    return parts


def _halves(x: Float[np.ndarray, "t d"], part: Int[np.ndarray, " n"]) -> list[Int[np.ndarray, " m"]]:
    widest = int(np.argmax(x[part].std(axis=0)))
    ordered = part[np.argsort(x[part, widest], kind="stable")]
    return [ordered[: len(part) // 2], ordered[len(part) // 2 :]]


def inverse_information(information: Float[np.ndarray, "p p"]) -> Float[np.ndarray, "p p"]:
    """All parameters are of order one: where the data says less about them than that, they are held where they are.

    Inverted in units in which its diagonal is one: a few far states may give it entries of any size.
    """
    held = information + HELD * np.eye(len(information))
    scale = 1 / np.sqrt(np.diag(held))
    return scale[:, None] * np.linalg.inv(scale[:, None] * held * scale + ROUNDING * np.eye(len(held))) * scale


def from_zero(origin: Float[np.ndarray, " d"]) -> bool:
    """Whether the user's zero is close enough to count from; otherwise it is the mean of the data."""
    return bool(np.abs(origin).max() <= FAR)


def _with_one(columns: Float[np.ndarray, "t n"]) -> Float[np.ndarray, "t m"]:
    return np.concatenate([np.ones((len(columns), 1)), columns], axis=1)


def _inner(drift: Any) -> Any:
    return drift.free if isinstance(drift, KineticDrift) else drift


@eqx.filter_jit
def _scores(
    rule: TransitionRule, trained: Any, fixed: Any, x: Array, moved: Array, step: Array
) -> tuple[Float[Array, " t"], Float[Array, "t p"]]:
    def one(x, moved, step):
        log_prob = lambda trained: rule.log_prob(eqx.combine(trained, fixed), x, moved, step)  # noqa: E731
        value, gradient = jax.value_and_grad(log_prob)(trained)
        return value, ravel_pytree(gradient)[0]

    return jax.vmap(one)(x, moved, step)
