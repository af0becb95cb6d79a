"""Drift by weighted least squares: starting values, how many powers of the state the data supports, model validity."""

from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from nke.fitting.initial_moments import TransitionSample
from nke.fitting.rules import SelectionRules
from nke.operators import monomial_degrees, monomials


def polynomial_drift(
    terms: Float[np.ndarray, "t n"],
    velocity: Float[np.ndarray, "t d"],
    weights: Float[np.ndarray, "t d"],
    ridge: float = 1e-4,
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "d n"]]:
    """Fits velocity ≈ b + A·terms by weighted least squares, coordinate by coordinate.

    Args:
        terms: Powers of the state.
        velocity: What is to be explained.
        weights: Of every transition and coordinate.
        ridge: Penalty, in units of the mean square of a column.

    Returns:
        The constants b and the slopes A.
    """
    columns = np.concatenate([np.ones((len(terms), 1)), terms], axis=1)
    scale = np.sqrt(np.mean(columns**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    columns = columns / scale
    found = []
    for target, weight in zip(velocity.T, weights.T, strict=True):
        weight = weight / weight.mean()
        normal = (columns.T * weight) @ columns / len(columns) + ridge * np.eye(columns.shape[1])
        found.append(np.linalg.solve(normal, (columns.T * weight) @ target / len(columns)) / scale)
    table = np.array(found)
    return table[:, 0], table[:, 1:]


class DriftRegression:
    """What least squares say about the drift, for noise of one form.

    Calm steps are weighed by their length and by their noise.
    """

    def __init__(self, sample: TransitionSample, jumped: Float[np.ndarray, " t"], noise: str, rules: SelectionRules):
        """Prepares the weights.

        Args:
            sample: The transitions.
            jumped: Probability that each held a jump.
            noise: Form of the noise; only "relative" depends on the state.
            rules: Highest degree, and what a higher one must gain.
        """
        self._sample, self._rules = sample, rules
        size = sample.amplitude if noise == "relative" else np.ones_like(sample.displacement)
        self.weights: Float[np.ndarray, "t r"] = (sample.step * (1 - jumped))[:, None] / size**2

    def residual(self, degree: int = 2) -> Float[np.ndarray, "t r"]:
        """Computes the displacements without a polynomial drift."""
        sample = self._sample
        constant, slopes, terms = self._fit(sample.x, degree)
        return sample.displacement - sample.step[:, None] * (constant + terms @ slopes.T)

    def coefficients(
        self, degree: int, midpoint: bool = True
    ) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r n"]]:
        """Fits constants and slopes of a polynomial drift.

        Args:
            degree: Highest power of the state.
            midpoint: Whether the states are taken half a step ahead, where the mean velocity of a step is the drift.

        Returns:
            Constants and slopes.
        """
        return self._fit(self._midpoints if midpoint else self._sample.x, degree)[:2]

    def degrees(self) -> list[int]:
        """Finds the powers of the state that the data supports, and those that bring half of their gain.

        Least squares know no curvature of the motion within a step and may find too many.
        """
        sample, degrees, nats = self._sample, self._possible_degrees(), []
        # What rounding leaves of a motion that is explained exactly.
        least = 1e-12 * np.sum(self.weights * sample.velocity**2, axis=0) + np.finfo(float).tiny
        for degree in degrees:
            constant, slopes, terms = self._fit(self._midpoints, degree)
            squares = np.sum(self.weights * (sample.velocity - constant - terms @ slopes.T) ** 2, axis=0)
            nats.append(-len(sample.step) / 2 * np.log(np.maximum(squares, least)).sum() - self._count(degree))
        gained = np.array(nats) - nats[0]
        needed = max(gained.max() - self._rules.degree_gain, 0.0)
        return [degrees[i] for i in sorted({int(np.argmax(gained >= share)) for share in (needed / 2, needed)})]

    def relative_drift_change(
        self, x: Float[np.ndarray, "n d"], step: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Computes the relative change of the drift over a step along itself, from states as they are."""
        degree, constant, slopes = self._best
        drift = lambda x: constant + self._terms(self._sample.visible(x), degree) @ slopes.T  # noqa: E731
        now, ahead = drift(x), np.array(x)
        ahead[:, self._sample.free] += step[:, None] * now
        return np.linalg.norm(drift(ahead) - now, axis=1) / np.maximum(np.linalg.norm(now, axis=1), 1e-300)

    def within_model_validity(
        self, x: Float[np.ndarray, "n d"], step: Float[np.ndarray, " n"]
    ) -> Bool[np.ndarray, " n"]:
        """Tells the steps over which the drift changes little enough for a discrete model to hold.

        It is a question to the state alone, so that leaving the others out does not bias the law.
        """
        valid = self.relative_drift_change(x, step) <= self._rules.most_drift_change
        return valid if valid.mean() > self._rules.least_valid_share else np.ones_like(valid)

    @cached_property
    def _best(self) -> tuple[int, Float[np.ndarray, " r"], Float[np.ndarray, "r n"]]:
        """Degree, constants and slopes of the polynomial drift of the highest degree that the data supports."""
        degree = self.degrees()[-1]
        return degree, *self.coefficients(degree)

    @cached_property
    def _midpoints(self) -> Float[np.ndarray, "t n"]:
        """States half a step ahead along a polynomial drift, as the law sees them."""
        sample = self._sample
        constant, slopes, terms = self._fit(sample.x, self._possible_degrees()[-1])
        ahead = sample.states.copy()
        ahead[:, sample.free] += sample.step[:, None] / 2 * (constant + terms @ slopes.T)
        return sample.visible(ahead)

    def _fit(
        self, x: Float[np.ndarray, "t v"], degree: int
    ) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r n"], Float[np.ndarray, "t n"]]:
        terms = self._terms(x, degree)
        return *polynomial_drift(terms, self._sample.velocity, self.weights), terms

    def _terms(self, x: Float[np.ndarray, "t v"], degree: int) -> Float[np.ndarray, "t n"]:
        return np.asarray(monomials(x, degree, self._sample.pairs))

    def _possible_degrees(self) -> list[int]:
        """Degrees of a polynomial drift that has not too many coefficients."""
        rules = self._rules
        return [k for k in range(1, rules.most_degree + 1) if k == 1 or self._count(k) <= rules.most_coefficients]

    def _count(self, degree: int) -> int:
        """Coefficients beside the constants."""
        sample = self._sample
        return len(monomial_degrees(sample.x.shape[1], degree, sample.pairs)) * len(sample.free)
