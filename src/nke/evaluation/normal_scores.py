"""Transitions as a model sees them: normal scores, independent and standard normal where the model is right.

The Rosenblatt transform takes each coordinate of a transition through its distribution function given the coordinates
before it, and then to the normal quantile. What is left of a transition is noise of unit variance, free of memory and
the same everywhere, for any model with noise, whether it has jumps or not.

The distribution function is that of the discrete model of a step, which is an approximation. So the same states are
also moved by the simulated equation, and what is recorded is compared with what is simulated, not with the ideal.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_ndtr, logsumexp, ndtri, ndtri_exp

from nke.data import Transitions
from nke.evaluation.serial_dependence import independent_share
from nke.mixtures import GaussianMixture
from nke.model import Model, batched

MOST_SCORE = 8.0  # normal quantiles are not told apart beyond
MOST_REST = 1e3  # typical noises beyond which motions are not told apart
SIMULATED = 16_384  # transitions that are simulated, at least, so that few recorded ones are compared with many
MOST_REPEATS = 8


@dataclass(frozen=True)
class NormalScores:
    """Transitions and their normal scores under a model.

    Attributes:
        transitions: In the order of time within each trajectory.
        recorded: Their scores, one for each coordinate that is not fixed by the others.
        simulated: Scores of transitions that the model makes from the same states, several for each.
        recorded_rest: Recorded motions without the law's mean, over its typical noise, jumps included.
        simulated_rest: The same of the simulated ones.
        motion: The mean motion of a step over its noise, coordinate by coordinate as the scores.
        noise: Standard deviation of each coordinate's motion over a step, about, in the user's units.
        names: Names of the coordinates.
        columns: Their places in the state.

    Example:
        >>> scores = nke.evaluation.NormalScores.of(model, data.transitions())
        >>> scores.recorded.shape == scores.motion.shape
        True
    """

    transitions: Transitions
    recorded: Float[np.ndarray, "t r"]
    simulated: Float[np.ndarray, "k t r"]
    recorded_rest: Float[np.ndarray, "t r"]
    simulated_rest: Float[np.ndarray, "k t r"]
    motion: Float[np.ndarray, "t r"]
    noise: Float[np.ndarray, "t r"]
    names: tuple[str, ...]
    columns: tuple[int, ...]

    @classmethod
    def of(cls, model: Model, transitions: Transitions, seed: int = 0, block: int = batched.BLOCK) -> "NormalScores":
        """Computes the scores of transitions.

        Args:
            model: The model.
            transitions: Recorded transitions with its coordinates.
            seed: Of the simulated ones.
            block: States that are moved together.

        Returns:
            The scores.

        Example:
            >>> scores = nke.evaluation.NormalScores.of(model, data.transitions())
            >>> scores.names
            ('x',)
        """
        coordinates, seen = model.coordinates, transitions
        columns = moving(model, transitions)
        chosen = list(columns)
        law = batched.in_blocks(
            lambda z, step: batched.displacement(model.rule, model.generator, z, step),
            coordinates.to(seen.x),
            coordinates.step_to(seen.step),
        )
        part = GaussianMixture(law.weights, law.means[..., chosen], law.covariances[..., chosen, :][..., :, chosen])

        noise = np.sqrt(np.maximum(np.diagonal(part.covariance, axis1=-2, axis2=-1), 1e-300))

        def seen_by_law(y: Float[np.ndarray, "t d"]) -> tuple[Float[np.ndarray, "t r"], Float[np.ndarray, "t r"]]:
            with np.errstate(all="ignore"):
                moved = coordinates.displacement_to(y - seen.x, seen.x)[:, chosen]
            moved = np.where(np.isfinite(moved), moved, part.mean + MOST_REST * noise)
            rest = (moved - part.mean) / np.sqrt(np.median(noise**2, axis=0))
            return rosenblatt(part, moved), np.clip(rest, -MOST_REST, MOST_REST)

        repeats = int(np.clip(np.ceil(SIMULATED / len(seen)), 1, MOST_REPEATS))
        draws = (model.sample_next(seen.x, seen.step, seed + i, block=block) for i in range(repeats))
        drawn, drawn_rest = map(np.stack, zip(*(seen_by_law(_finite(y, seen.y)) for y in draws), strict=True))
        recorded, rest = seen_by_law(seen.y)
        motion = np.linalg.solve(np.linalg.cholesky(_positive(part.covariance)), part.mean[..., None])[..., 0]
        names = tuple(model.names[i] for i in columns)
        unit = noise * coordinates.size[chosen]
        return cls(seen, recorded, drawn, rest, drawn_rest, motion, unit, names, columns)

    @property
    def follows(self) -> Bool[np.ndarray, " n"]:
        """Whether each transition begins where the one before it ended."""
        seen = self.transitions
        return (seen.trajectory[1:] == seen.trajectory[:-1]) & (seen.x[1:] == seen.y[:-1]).all(axis=1)

    @cached_property
    def noise_ratio(self) -> Float[np.ndarray, " r"]:
        """Noise of the data over that of the model, by the middle half of the scores: neither jumps nor tails count."""
        return _middle(self.recorded) / np.maximum(_middle(self.simulated.reshape(-1, len(self.names))), 1e-12)

    @cached_property
    def standardised(self) -> tuple[Float[np.ndarray, "t r"], Float[np.ndarray, "k t r"]]:
        """Recorded and simulated scores, each over its own noise: noise of the wrong size is found once only."""
        return _standardised(self.recorded), _standardised(self.simulated)

    @cached_property
    def independent(self) -> float:
        """Share of the transitions that are independent as far as the size of the noise goes."""
        return independent_share(self.standardised[0], self.transitions.trajectory)

    @property
    def unexplained(self) -> Float[np.ndarray, "t r"]:
        """Standardised scores without their mean in each part of the states and their slope on the motion.

        What a better drift would explain is then no memory.
        """
        left, motion = self.standardised[0].copy(), self.motion.copy()
        for cell in self.cells:
            left[cell] -= left[cell].mean(axis=0)
            motion[cell] -= motion[cell].mean(axis=0)
        known = np.sum(motion**2, axis=0)
        return left - motion * np.where(known > 0, np.sum(left * motion, axis=0) / np.maximum(known, 1e-300), 0.0)

    @cached_property
    def cells(self) -> list[Int[np.ndarray, " n"]]:
        """The states cut into at most 16 cells of at least 100 each: halves of halves across the widest side."""
        x = self.transitions.x
        deviation = x.std(axis=0)
        x = x / np.where(deviation > 0, deviation, 1.0)
        parts = [np.arange(len(x))]
        while len(parts) < 16 and len(x) >= 200 * len(parts):
            parts = [half for part in parts for half in _halves(x, part)]
        return parts


def moving(model: Model, transitions: Transitions) -> tuple[int, ...]:
    """Finds the coordinates that can be scored: not fixed by others, and not constant in the data.

    Args:
        model: The model.
        transitions: Recorded transitions.

    Returns:
        Their places.

    Example:
        >>> nke.evaluation.normal_scores.moving(model, data.transitions())
        (0,)
    """
    moved = np.any(transitions.displacement != 0, axis=0)
    return tuple(i for i in model.generator.free(model.dimension) if moved[i])


def rosenblatt(law: GaussianMixture, at: Float[np.ndarray, "t r"]) -> Float[np.ndarray, "t r"]:
    """Normal quantiles of each coordinate's distribution function given the coordinates before it.

    Args:
        law: A mixture for each point.
        at: The points.

    Returns:
        Scores, within ± 8.

    Example:
        >>> law = nke.mixtures.GaussianMixture(np.ones((1, 1)), np.zeros((1, 1, 2)), np.eye(2)[None, None])
        >>> nke.evaluation.rosenblatt(law, np.array([[0.5, -1.0]])).round(6).tolist()
        [[0.5, -1.0]]
    """
    factor = np.linalg.cholesky(_positive(law.covariances))  # (t, k, r, r)
    white = np.linalg.solve(factor, (at[:, None] - law.means)[..., None])[..., 0]
    white = np.clip(white, -1e6, 1e6)  # whose squares are still finite
    with np.errstate(divide="ignore"):
        logs = np.log(law.weights)
    found = np.empty_like(at)
    for i in range(at.shape[1]):
        z = white[..., i]
        below, above = (logsumexp(logs + log_ndtr(side * z), axis=1) for side in (1, -1))
        total = np.logaddexp(below, above)  # one, up to weights given the coordinates before
        lower = below < above
        score = np.where(lower, ndtri_exp(np.minimum(below - total, 0.0)), -ndtri_exp(np.minimum(above - total, 0.0)))
        found[:, i] = np.clip(score, -MOST_SCORE, MOST_SCORE)
        logs = logs - z**2 / 2 - np.log(factor[..., i, i])
        logs = logs - logsumexp(logs, axis=1, keepdims=True)
    return found


def _finite(drawn: Float[np.ndarray, "t d"], instead: Float[np.ndarray, "t d"]) -> Float[np.ndarray, "t d"]:
    """Drawn states; recorded ones where the simulation diverges, which the check of long runs tells of."""
    return np.where(np.isfinite(drawn).all(axis=1, keepdims=True), drawn, instead)


def _middle(e: Float[np.ndarray, "n r"]) -> Float[np.ndarray, " r"]:
    """Width of the middle half, which is one for standard normal numbers."""
    low, high = np.quantile(e, [0.25, 0.75], axis=0)
    return (high - low) / (2 * ndtri(0.75))


def _standardised(e: Float[np.ndarray, "*n r"]) -> Float[np.ndarray, "*n r"]:
    return np.clip(e / np.maximum(_middle(e.reshape(-1, e.shape[-1])), 1e-12), -MOST_SCORE, MOST_SCORE)


def _positive(covariance: Float[np.ndarray, "... r r"]) -> Float[np.ndarray, "... r r"]:
    """The matrices, positive definite also where single precision rounds a variance to zero."""
    size = np.trace(covariance, axis1=-2, axis2=-1)[..., None, None]
    return covariance + (1e-9 * size + 1e-30) * np.eye(covariance.shape[-1])


def _halves(x: Float[np.ndarray, "t d"], part: Int[np.ndarray, " n"]) -> list[Int[np.ndarray, " m"]]:
    widest = int(np.argmax(x[part].std(axis=0)))
    ordered = part[np.argsort(x[part, widest], kind="stable")]
    return [ordered[: len(part) // 2], ordered[len(part) // 2 :]]
