"""First averages of the data: covariances of calm motion and of jumps, the same at every state.

Δx is N(0, s·C) without a jump and N(0, s·C + G) with one; expectation maximisation gives C, G and the share of
steps with a jump. G is read off whole displacements, so it starts too large by s·C; training corrects it.
"""

from copy import copy
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import KDTree
from scipy.special import expit, logit

from nke.arrays import log_normal_density
from nke.data import Coordinates, Transitions
from nke.data.transforms import Periodic, Plain
from nke.fitting.batches import motion_size
from nke.fitting.usual_bounds import usual_bounds
from nke.operators import KinematicConstraint

NORMAL_MEDIAN = 0.67449  # of the absolute value of a standard normal number
LEAST_PROBABILITY = 1e-5  # of a jump in a step, so that its logarithm exists


class DisplacementMoments(NamedTuple):
    """Moments of the displacements, the same at every state.

    Attributes:
        noise: Covariance of the calm motion per unit time.
        jump: Second moment of a jump.
        rate: Jumps per unit time.
        jumped: Probability that each step held a jump.
    """

    noise: Float[np.ndarray, "d d"]
    jump: Float[np.ndarray, "d d"]
    rate: float
    jumped: Float[np.ndarray, " t"]

    @classmethod
    def of_known_jumps(
        cls,
        displacement: Float[np.ndarray, "t d"],
        step: Float[np.ndarray, " t"],
        jumped: Float[np.ndarray, " t"],
        least: Float[np.ndarray, " d"] | float = 0.0,
    ) -> "DisplacementMoments":
        """Computes the moments where it is known which steps held a jump.

        Args:
            displacement: The displacements.
            step: Their times.
            jumped: Probability that each step held a jump.
            least: Noise of a step below which none can be told from it.

        Returns:
            The moments.
        """
        rate = max(float(jumped.mean()), LEAST_PROBABILITY) / float(step.mean())
        return cls(*_covariances(displacement, step, jumped, least), rate, jumped)

    def log_prob(
        self, displacement: Float[np.ndarray, "t d"], step: Float[np.ndarray, " t"]
    ) -> Float[np.ndarray, " t"]:
        """Computes the log density of displacements under the two Gaussians."""
        calm = displacement_density(displacement, step, self.noise)
        if self.rate == 0:
            return calm
        probability = np.clip(self.rate * step, LEAST_PROBABILITY, 0.5)
        jumped = displacement_density(displacement, step, self.noise, self.jump)
        return np.logaddexp(np.log1p(-probability) + calm, np.log(probability) + jumped)

    def with_resolution(self, resolution: Float[np.ndarray, " d"], step: float) -> "DisplacementMoments":
        """Replaces the calm noise of coordinates that have a resolution by it."""
        noisy = resolution == 0
        return self._replace(noise=self.noise * np.outer(noisy, noisy) + np.diag(resolution**2 / step))


class TransitionSample:
    """Some transitions in the coordinates of training, as the law to be learned sees them.

    Attributes:
        states: States; coordinates on which the law does not depend are zero.
        x: The states as the law sees them: of angles cosine and sine.
        pairs: Columns of x that are cosine and sine of one angle.
        displacement: Displacements of the coordinates that are learned.
        step: Times between.
        trajectory: The trajectory of each.
        typical_step: Their median.
        free: Indices of the coordinates that are learned.
        deviation: Standard deviations of these.
        zero: The user's zero, for each column of x; 0 for cosines and sines, and for logarithms the mean.
        origin: The same, but 0 also for other columns that have no size.
        near_zero: Size below which a state counts as zero, likewise; 1 for cosines and sines.
        amplitude: √(c² + x²) of the learned coordinates, the size of the state as the user measures it; 1 for those
            that have none.
        sizeless: Columns of x that have no size: cosines and sines of angles, and logarithms.
        bounds: Below and above which no column of x is by nature: zero for what is positive, usual bounds of shares;
            NaN where there are none.
        logarithms: The size of a factor e in coordinates that are logarithms; zero for the others.
    """

    def __init__(
        self,
        transitions: Transitions,
        coordinates: Coordinates,
        constraint: KinematicConstraint | None,
        near_zero_share: float,
    ):
        x = coordinates.to(transitions.x)
        self._constraint = constraint
        self.pairs = () if constraint is None else constraint.pairs
        self.free: Int[np.ndarray, " r"] = (
            np.arange(coordinates.dimension) if constraint is None else np.array(constraint.free)
        )
        self.deviation = x.std(axis=0)[self.free]
        still = () if constraint is None else constraint.invariant
        self.states: Float[np.ndarray, "t d"] = x * ~np.isin(np.arange(x.shape[1]), still)
        self.x: Float[np.ndarray, "t n"] = self.visible(x)
        self.displacement: Float[np.ndarray, "t r"] = coordinates.displacement_to(transitions.displacement)[
            :, self.free
        ]
        self.step: Float[np.ndarray, " t"] = coordinates.step_to(transitions.step)
        self.trajectory = transitions.trajectory
        self.typical_step = float(np.median(self.step))
        origin, size = near_zero(self.states, coordinates, near_zero_share)
        self.amplitude = np.sqrt(size**2 + (self.states - origin) ** 2)
        angles = [isinstance(column, Periodic) for column in coordinates.transforms]
        unsized = [isinstance(t, Plain) and not t.sized for t in coordinates.transforms]  # their zero is that of a unit
        self.zero = np.append(np.where(np.logical_or(angles, unsized), 0.0, origin), np.zeros(len(self.pairs)))
        sizeless = [i for i, column in enumerate(coordinates.transforms) if not getattr(column, "sized", False)]
        origin[sizeless], size[sizeless], self.amplitude[:, sizeless] = 0.0, 1.0, 1.0
        self.logarithms = np.where(unsized, 1 / coordinates.scale, 0.0)
        self.sizeless = tuple(sorted({*sizeless, *(i for pair in self.pairs for i in pair)}))
        self.amplitude = self.amplitude[:, self.free]
        sines = len(self.pairs)
        self.origin, self.near_zero = np.append(origin, np.zeros(sines)), np.append(size, np.ones(sines))
        self.bounds = np.full((self.x.shape[1], 2), np.nan)
        for i in np.setdiff1d(np.arange(coordinates.dimension), self.sizeless):
            values = transitions.x[:, i]
            ends = usual_bounds(values) or ((0.0, np.nan) if values.min() > 0 else (np.nan, np.nan))
            self.bounds[i] = (np.array(ends) - coordinates.shift[i]) / coordinates.scale[i]

    def with_displacement(self, displacement: Float[np.ndarray, "t r"]) -> "TransitionSample":
        """The same starts and steps with other displacements."""
        other = copy(self)
        other.displacement = displacement
        return other

    def visible(self, x: Float[np.ndarray, "t d"]) -> Float[np.ndarray, "t n"]:
        """Gives states as the law sees them."""
        return x if self._constraint is None else self._constraint.seen(x)

    def visible_ahead(
        self, states: Float[np.ndarray, "t d"], displacement: Float[np.ndarray, "t r"]
    ) -> Float[np.ndarray, "t n"]:
        """Moves the learned coordinates of states, and gives them as the law sees them.

        Args:
            states: The states.
            displacement: Motion of the learned coordinates.

        Returns:
            The states ahead, as the law sees them.
        """
        ahead = states.copy()
        ahead[:, self.free] += displacement
        return self.visible(ahead)

    @property
    def velocity(self) -> Float[np.ndarray, "t r"]:
        """Displacements over their steps."""
        return self.displacement / self.step[:, None]

    def without_noise(self, noiseless: float) -> Bool[np.ndarray, " r"]:
        """Tells the coordinates whose calm motion a smooth function of the state explains without any noise.

        The motion of each state is compared with that of its nearest neighbour; half of them may be jumps.

        Args:
            noiseless: Noise of a step, in standard deviations, that counts as none.

        Returns:
            Whether each learned coordinate has none.
        """
        near = np.asarray(KDTree(self.x).query(self.x, 2)[1])[:, 1]
        apart = np.median(np.abs(self.displacement - self.displacement[near]), axis=0)
        return apart < 2 * noiseless * self.deviation

    def moments(self, displacement: Float[np.ndarray, "t r"], jumps: bool, noiseless: float) -> DisplacementMoments:
        """Computes the moments of displacements over these steps.

        Args:
            displacement: Displacements, or what is left of them.
            jumps: Whether some of them are jumps.
            noiseless: Noise of a step, in standard deviations, that counts as none.

        Returns:
            Their moments.
        """
        found = moments_with_jumps if jumps else moments_without_jumps
        return found(displacement, self.step, noiseless * self.deviation)


def moments_without_jumps(
    displacement: Float[np.ndarray, "t d"],
    step: Float[np.ndarray, " t"],
    least: Float[np.ndarray, " d"] | float = 0.0,
) -> DisplacementMoments:
    """Computes the moments of displacements without jumps.

    Args:
        displacement: The displacements.
        step: Their times.
        least: Noise of a step below which none can be told from it.

    Returns:
        Moments with a rate of zero.

    Example:
        >>> displacement, step = np.array([[0.1], [-0.1]]), np.array([0.01, 0.01])
        >>> nke.fitting.moments_without_jumps(displacement, step).noise.round(3).tolist()  # Δx²/s
        [[1.0]]
    """
    calm = np.zeros(len(step))
    return DisplacementMoments(*_covariances(displacement, step, calm, least), 0.0, calm)


def moments_with_jumps(
    displacement: Float[np.ndarray, "t d"],
    step: Float[np.ndarray, " t"],
    least: Float[np.ndarray, " d"] | float = 0.0,
    iterations: int = 20,
    tolerance: float = 1e-3,
) -> DisplacementMoments:
    """Tells calm displacements from jumps by expectation maximisation.

    Args:
        displacement: The displacements.
        step: Their times.
        least: Noise of a step below which none can be told from it.
        iterations: How many at most.
        tolerance: Change of a jump's probability below which it ends.

    Returns:
        The moments.
    """
    jumped = _largest(motion_size(displacement, step))
    noise, jump = _covariances(displacement, step, jumped, least)
    for _ in range(iterations):
        probability = np.clip(jumped.mean(), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        calm, before = displacement_density(displacement, step, noise), jumped
        jumped = expit(logit(probability) + displacement_density(displacement, step, noise, jump) - calm)
        noise, jump = _covariances(displacement, step, jumped, least)
        if np.abs(jumped - before).max() < tolerance:
            break
    return DisplacementMoments.of_known_jumps(displacement, step, jumped, least)


def local_deviation(
    x: Float[np.ndarray, "t d"], values: Float[np.ndarray, "t r"], neighbours: int, most: int = 16_384
) -> Float[np.ndarray, "t r"]:
    """Computes the standard deviation of Gaussian values around every state, which a few outliers do not change.

    Args:
        x: The states.
        values: Values of mean zero.
        neighbours: How many states count as those around one.
        most: States among which neighbours are looked for, at most.

    Returns:
        The median of the absolute values of the neighbours, over that of a standard normal number.

    Example:
        >>> x, rng = np.linspace(0, 1, 1000)[:, None], np.random.default_rng(0)
        >>> values = (1 + 9 * (x > 0.5)) * rng.normal(size=x.shape)
        >>> values[::50] = 1000.0
        >>> nke.fitting.local_deviation(x, values, 100)[[200, 800]].round().ravel().tolist()
        [1.0, 9.0]
    """
    some = np.linspace(0, len(x) - 1, min(most, len(x))).astype(int)
    spread = x[some].std(axis=0)
    scaled = x / np.where(spread > 0, spread, 1.0)
    tree, size, found = KDTree(scaled[some]), np.abs(values[some]), np.empty_like(values)
    for begin in range(0, len(x), most):
        near = np.asarray(tree.query(scaled[begin : begin + most], min(neighbours, len(some)))[1])
        found[begin : begin + most] = np.median(size[near.reshape(len(near), -1)], axis=1)
    return np.maximum(found, 1e-6 * np.median(found, axis=0) + 1e-300) / NORMAL_MEDIAN


def displacement_density(
    displacement: Float[np.ndarray, "t d"],
    step: Float[np.ndarray, " t"],
    noise: Float[np.ndarray, "d d"],
    jump: Float[np.ndarray, "d d"] | float = 0.0,
) -> Float[np.ndarray, " t"]:
    """Computes log G_{0, s·C + G} of displacements; there is one matrix to factorise where all steps are equal."""
    rounding = 1e-9
    different = step if np.ptp(step) > rounding * step[0] else step[:1]
    return log_normal_density(displacement, different[:, None, None] * noise + jump)


def near_zero(
    x: Float[np.ndarray, "t d"], coordinates: Coordinates, share: float
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Finds the user's zero in the coordinates of training, and a size below which a state counts as zero.

    Args:
        x: States in the coordinates of training.
        coordinates: These.
        share: That size over the median distance of the states from zero.

    Returns:
        The zero and the size, coordinate by coordinate.
    """
    origin = coordinates.to(np.zeros(x.shape[1]))
    away = np.median(np.abs(x - origin), axis=0)
    return origin, share * np.where(away > 0, away, 1.0)


def _largest(size: Float[np.ndarray, " t"], share: float = 0.05) -> Float[np.ndarray, " t"]:
    """1 for about a ``share`` of the largest, with ties unless half of all tie: the first guess of jumps."""
    threshold = np.quantile(size, 1 - share)
    tied = size >= threshold
    return (tied if tied.mean() < 0.5 else size > threshold).astype(float)


def _covariances(displacement, step, jumped, least) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, "d d"]]:
    """Covariance of the calm motion per unit time, and of the jumps; positive definite also where nothing moves."""
    calm = 1 - jumped
    noise = (displacement.T * (calm / step)) @ displacement / max(calm.sum(), 1.0)
    noise = _positive(noise + np.diag(np.maximum(least**2 / np.median(step) - np.diag(noise), 0.0)))
    total = (displacement.T * jumped) @ displacement / max(jumped.sum(), 1.0)
    return noise, _positive(total)


def _positive(covariance: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    diagonal = np.diag(covariance)
    floor = np.maximum(1e-6 * diagonal, 1e-12 * diagonal.max() if diagonal.any() else 1.0)
    return covariance + np.diag(floor)
