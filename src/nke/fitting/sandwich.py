"""Covariances of parameters that hold where the transitions are not quite what the law says.

The curvature of a likelihood tells how far its maximum may be off if the law is right in every respect. Where motions
have heavier tails than its noise, or follow from earlier ones, the scores of the transitions themselves tell it: with
the information H of the law and the covariance J of the sum of the scores the covariance is H⁻¹JH⁻¹, the "sandwich"
(Huber, 1967). H comes from motions drawn from the law, so that heavy tails do not count as information; J from sums
over whole trajectories or contiguous blocks, so that it holds what neighbours have in common.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from nke.data import Coordinates, Transitions
from nke.fitting.batches import Steps, float32
from nke.model.batched import displacement, in_blocks
from nke.operators import Generator, TransitionRule

MOST = 1 << 14  # transitions whose scores are looked at
ROUNDING = 1e-10  # smallest eigenvalue of an information, over the largest, that is more than rounding
BLOCKS = 50  # in which the transitions lie at least, where there are so many

Scores = Float[np.ndarray, "t p"]
Information = Float[np.ndarray, "p p"]


@dataclass(frozen=True)
class ScoreSample:
    """Transitions in blocks taken for independent, and motions that the law would have made of the same states.

    Attributes:
        recorded: The transitions.
        drawn: The same states and steps, with motions drawn from the law.
        blocks: Block of each transition, counted from 0.
    """

    recorded: Steps
    drawn: Steps
    blocks: Int[np.ndarray, " t"]

    @classmethod
    def of(
        cls, generator: Generator, rule: TransitionRule, data: Transitions, coordinates: Coordinates, seed: int
    ) -> "ScoreSample":
        """Takes whole blocks of transitions, and draws their motions anew.

        Args:
            generator: The law.
            rule: The discrete model of a step.
            data: Transitions in the user's units.
            coordinates: Those of training.
            seed: Of what is random.

        Returns:
            The sample.
        """
        blocks, rng = independent_blocks(data.trajectory), np.random.default_rng(seed)
        order = rng.permutation(blocks.max() + 1)
        rank = np.argsort(order)[blocks]  # blocks in random order, as many whole ones as there is room for
        sizes = np.cumsum(np.bincount(rank))
        chosen = rank < max(1, int(np.searchsorted(sizes, MOST, side="right")))
        data, blocks = data.take(chosen), rank[chosen]
        x, step = coordinates.to(data.x), coordinates.step_to(data.step)
        moved = coordinates.displacement_to(data.displacement)
        law = in_blocks(lambda x, s: displacement(rule, generator, x, s), x, step).numpy()
        anew = law.sample(1, rng)[0]
        steps = [Steps(float32(x), float32(m), float32(step)) for m in (moved, anew)]
        return cls(steps[0], steps[1], blocks)

    @property
    def usable(self) -> bool:
        """Whether all motions could be drawn: not where there is no noise."""
        return bool(np.isfinite(np.asarray(self.drawn.displacement)).all())

    def information(self, scores: Callable[[Steps], Scores], count: int) -> tuple[Information, Information]:
        """Computes H of the law and J of the recorded transitions.

        Args:
            scores: Gives the scores of transitions.
            count: How many transitions the law was fitted to.

        Returns:
            Both for so many transitions.
        """
        recorded, drawn = scores(self.recorded), scores(self.drawn)
        more, blocks = count / len(recorded), int(self.blocks.max()) + 1
        sums = np.zeros((blocks, recorded.shape[1]))
        np.add.at(sums, self.blocks, recorded - recorded.mean(axis=0))
        return more * drawn.T @ drawn, more * blocks / max(blocks - 1, 1) * sums.T @ sums


def sandwich(bread: Information, meat: Information, precision: Float[np.ndarray, " p"] | float = 0.0) -> Information:
    """Computes (H + Λ)⁻¹(J + Λ)(H + Λ)⁻¹.

    Args:
        bread: The information H of the law.
        meat: The covariance J of the sum of the scores.
        precision: Of the prior of each parameter, the diagonal of Λ.

    Returns:
        The covariance of the parameters; (H + Λ)⁻¹ where the law is right, J being H.

    Example:
        >>> from nke.fitting.sandwich import sandwich
        >>> sandwich(4 * np.eye(1), 8 * np.eye(1)).tolist(), sandwich(3 * np.eye(1), 3 * np.eye(1), 1.0).tolist()
        ([[0.5]], [[0.25]])
    """
    prior = np.diag(np.broadcast_to(precision, len(bread)))
    whole = bread + prior
    scale = 1 / np.sqrt(np.maximum(np.diag(whole), np.finfo(float).tiny))
    inverse = scale[:, None] * np.linalg.pinv(scale[:, None] * whole * scale, rcond=ROUNDING, hermitian=True) * scale
    return inverse @ (meat + prior) @ inverse


def independent_blocks(trajectory: Int[np.ndarray, " t"]) -> Int[np.ndarray, " t"]:
    """Cuts transitions into blocks: trajectories, or parts of them where these are few.

    Args:
        trajectory: Trajectory of each transition, in the order of the rows.

    Returns:
        Block of each transition, counted from 0.

    Example:
        >>> from nke.fitting.sandwich import independent_blocks
        >>> independent_blocks(np.repeat([0, 3], 100)).max() + 1
        np.int64(50)
    """
    _, trajectory, rows = np.unique(trajectory, return_inverse=True, return_counts=True)
    parts = -(-BLOCKS // len(rows))
    within = np.arange(len(trajectory)) - (np.cumsum(rows) - rows)[trajectory]
    part = np.minimum(within * parts // rows[trajectory], parts - 1)
    return np.unique(trajectory * parts + part, return_inverse=True)[1]
