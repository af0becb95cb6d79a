"""Is the law worth its parameters? Its score beside those of five textbook laws, each by maximum likelihood.

Each coordinate has a law of its own: a mean that returns at a rate, noise in proportion to a power of the state, and
increments that are Gaussian, Student or a jump diffusion's. Random walk, Ornstein–Uhlenbeck, Ornstein–Uhlenbeck with
Student noise, noise in proportion to a power of the state, and Merton's jumps are such laws.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp

from nke.data import Transitions
from nke.data.transforms import Periodic
from nke.evaluation.finding import Finding
from nke.evaluation.normal_scores import moving
from nke.model import Model

GAIN = 0.003  # nats per transition that matter: what the short runs of a fit must gain as well
ERRORS = 2.0  # standard errors of the paired difference from which on another law is better
BLOCKS = 50  # of consecutive transitions, so that the standard error respects what neighbours share
MOST_JUMPS = 3  # in one step of Merton's law
NAME = "simpler laws"

LogDensity = Callable[[Float[np.ndarray, " t"], Float[np.ndarray, " k"]], Float[np.ndarray, " t"]]


@dataclass(frozen=True)
class TextbookLaw:
    """A law of one coordinate with few parameters.

    Attributes:
        name: In the field's words.
        returns: Whether the mean returns to a level.
        power: Whether the noise is in proportion to a power of the state.
        start: Parameters of the law of the noise, where the search for the maximum begins.
        log_density: Of noise of about unit variance, given these parameters.
    """

    name: str
    returns: bool
    power: bool
    start: tuple[float, ...]
    log_density: LogDensity

    def scores(
        self, x: Float[np.ndarray, " t"], y: Float[np.ndarray, " t"], step: Float[np.ndarray, " t"]
    ) -> tuple[Float[np.ndarray, " t"], int]:
        """Fits the law to transitions of one coordinate.

        Args:
            x: States before.
            y: States after.
            step: Times between.

        Returns:
            The log density of each transition at the maximum, and the number of parameters.

        Example:
            >>> x = np.cumsum(np.random.default_rng(0).normal(size=1001))
            >>> random_walk = nke.evaluation.checks.TEXTBOOK_LAWS[0]
            >>> scores, parameters = random_walk.scores(x[:-1], x[1:], np.ones(1000))
            >>> parameters, bool(abs(scores.mean() + 1.419) < 0.1)  # of a standard normal: −½ ln 2πe
            (2, True)
        """
        unit, size = float(np.median(step)), float(np.std(y - x)) or 1.0
        u, v, s = x / size, y / size, step / unit
        level = np.maximum(np.abs(u) / max(float(np.median(np.abs(u))), 1e-12), 1e-3)
        start = [float(np.mean(v - u)), *([0.0] if self.returns else []), -0.5, *([0.0] if self.power else [])]

        def log_densities(p: Float[np.ndarray, " k"]) -> Float[np.ndarray, " t"]:
            rest = list(p)
            shift = rest.pop(0)
            rate = rest.pop(0) if self.returns else 0.0
            width = np.exp(rest.pop(0)) * np.sqrt(_grown(2 * rate, s))
            if self.power:
                width = width * level ** rest.pop(0)
            with np.errstate(all="ignore"):
                noise = (v - u - (shift + rate * (u - u.mean())) * _grown(rate, s)) / width
                return self.log_density(noise, np.array(rest)) - np.log(width * size)

        def loss(p: Float[np.ndarray, " k"]) -> float:
            found = -float(np.mean(log_densities(p)))
            return found if np.isfinite(found) else 1e6

        best = minimize(loss, np.array([*start, *self.start]), method="L-BFGS-B", bounds=[(-20, 20)] * _count(self))
        return log_densities(best.x), _count(self)


def _count(law: TextbookLaw) -> int:
    return 2 + law.returns + law.power + len(law.start)


def _grown(rate: float, s: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """∫₀ˢ exp(rate·t) dt."""
    return s if abs(rate) < 1e-9 else np.expm1(rate * s) / rate


def _gaussian(noise: Float[np.ndarray, " t"], _: Float[np.ndarray, " k"]) -> Float[np.ndarray, " t"]:
    return -(noise**2) / 2 - np.log(2 * np.pi) / 2


def _student(noise: Float[np.ndarray, " t"], p: Float[np.ndarray, " k"]) -> Float[np.ndarray, " t"]:
    freedom = 1 + np.exp(p[0])
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - np.log(np.pi * freedom) / 2
    return constant - (freedom + 1) / 2 * np.log1p(noise**2 / freedom)


def _merton(noise: Float[np.ndarray, " t"], p: Float[np.ndarray, " k"]) -> Float[np.ndarray, " t"]:
    """Jumps at a rate, with mean and deviation in units of the noise."""
    rate, mean, deviation = np.exp(p[0]), p[1], np.exp(p[2])
    count = np.arange(MOST_JUMPS + 1)
    weight = stats.poisson.logpmf(count, rate)
    variance = 1 + count * deviation**2
    found = weight - (noise[:, None] - count * mean) ** 2 / (2 * variance) - np.log(2 * np.pi * variance) / 2
    return np.asarray(logsumexp(found, axis=1))


TEXTBOOK_LAWS = (
    TextbookLaw("a random walk", False, False, (), _gaussian),
    TextbookLaw("an Ornstein–Uhlenbeck process", True, False, (), _gaussian),
    TextbookLaw("an Ornstein–Uhlenbeck process with Student noise", True, False, (1.0,), _student),
    TextbookLaw("noise in proportion to a power of the state", True, True, (), _gaussian),
    TextbookLaw("Merton's jump diffusion", False, False, (-2.0, 0.0, 1.0), _merton),
)


def textbook_scores(model: Model, transitions: Transitions) -> dict[str, Float[np.ndarray, " t"]]:
    """Scores transitions by each textbook law, fitted to them, coordinate by coordinate.

    Args:
        model: Says which coordinates are scored.
        transitions: Recorded transitions, in the order of time.

    Returns:
        Log density of each transition less Akaike's charge for the parameters, since the law was fitted to these, by
        the name of the law; none where a coordinate is an angle or nothing moves.

    Example:
        >>> found = nke.evaluation.checks.textbook_scores(model, data.transitions())
        >>> bool(found["a random walk"].mean() < found["an Ornstein–Uhlenbeck process"].mean())
        True
    """
    columns = moving(model, transitions)
    if not columns or any(isinstance(t, Periodic) for t in model.coordinates.transforms):
        return {}
    seen, found = transitions, {}
    for law in TEXTBOOK_LAWS:
        parts = [law.scores(seen.x[:, i], seen.y[:, i], seen.step) for i in columns]
        found[law.name] = sum((scores - count / len(seen) for scores, count in parts), np.zeros(len(seen)))
    return found


def gain(scores: Float[np.ndarray, " t"], own: Float[np.ndarray, " t"]) -> tuple[float, float]:
    """Compares the scores of two laws on the same transitions.

    Args:
        scores: Of one law.
        own: Of the other one.

    Returns:
        The mean gain per transition, and its standard error, which respects what neighbours share.
    """
    difference = scores - own
    parts = np.array([part.mean() for part in np.array_split(difference, min(BLOCKS, len(difference)))])
    return float(difference.mean()), max(float(parts.std(ddof=1) / np.sqrt(len(parts))), 1e-300)


def check_simpler_laws(model: Model, transitions: Transitions) -> Iterator[Finding]:
    """Compares the score of a model with those of textbook laws on the same transitions.

    Args:
        model: The model.
        transitions: Recorded transitions, in the order of time.

    Yields:
        The best of the textbook laws, which matters where it predicts better.

    Example:
        >>> from nke.evaluation.checks import check_simpler_laws
        >>> [finding.matters for finding in check_simpler_laws(model, data.transitions())]
        [False]
    """
    found = textbook_scores(model, transitions)
    if not found:
        return
    own = model.log_prob(transitions.y, given=transitions.x, step=transitions.step)
    name = max(found, key=lambda law: found[law].mean())
    mean, error = gain(found[name], own)
    yield Finding(
        NAME,
        "a simpler law predicts better",
        max(mean, 0.0),
        GAIN,
        float(stats.norm.sf(mean / error)),
        f"{name[0].upper()}{name[1:]}, each coordinate by itself, predicts this data better, by {mean:.3f} ± "
        f"{error:.3f} nats per transition.",
        "Prefer it, or look at what it has and this law lacks: heavy tails, noise that grows with the state, jumps.",
        level=float(stats.norm.sf(ERRORS)),
    )
