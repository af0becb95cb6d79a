"""Rare jumps or heavy tails? Residuals in units of the noise under a Gaussian, two Gaussians, and Student's t.

Single jumps of their own size are a second, wider Gaussian in few of the steps. Noise whose size varies (with something
that is not recorded, or with the state in a way that a regression missed) is a mixture of Gaussians of all widths, of
which Student's t is the usual one. Both have an excess of large motions; the likelihood tells which.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from nke.fitting.initial_moments import displacement_density, moments_with_jumps

FREEDOMS = (2.5, 3.0, 4.0, 6.0, 10.0, 20.0)  # degrees of freedom that are tried
MOST_WHITE = 1e6  # residuals beyond which a regression says nothing


class Tails(NamedTuple):
    """What the tails of one coordinate look like.

    Attributes:
        jumps: Nats by which two Gaussians, calm steps and steps with a jump, are ahead of one.
        student: Nats by which Student's t is ahead of one Gaussian.
        freedom: Its degrees of freedom.
        residuals: Their number.
    """

    jumps: float
    student: float
    freedom: float
    residuals: int

    @classmethod
    def of(cls, residuals: Float[np.ndarray, " t"]) -> "Tails":
        """Looks at residuals.

        Args:
            residuals: In units of the noise, or of anything.

        Returns:
            What is gained.

        Example:
            >>> rng = np.random.default_rng(0)
            >>> noise, rare = rng.normal(size=(2, 4000))
            >>> jumping = nke.fitting.Tails.of(noise + 6 * rare * (rng.random(4000) < 0.02))
            >>> heavy = nke.fitting.Tails.of(rng.standard_t(4, size=4000))
            >>> jumping.jumps > jumping.student > 0, heavy.student > heavy.jumps > 0, heavy.freedom
            (True, True, 4.0)
        """
        middle = float(np.median(np.abs(residuals)))
        if middle == 0:
            return cls(0.0, 0.0, np.inf, len(residuals))
        w, once = np.clip(residuals / middle, -MOST_WHITE, MOST_WHITE)[:, None], np.ones(len(residuals))
        one = displacement_density(w, once, np.eye(1) * np.mean(w**2)).sum()
        two = moments_with_jumps(w, once).log_prob(w, once).sum()
        student, freedom = max((_student(w[:, 0], nu), nu) for nu in FREEDOMS)
        return cls(float(two - one), float(student - one), freedom, len(residuals))

    @property
    def jumps_ahead(self) -> float:
        """Nats of evidence by which jumps are ahead of all else; they have one parameter more than Student's t.

        Example:
            >>> nke.fitting.Tails(jumps=40.0, student=10.0, freedom=4.0, residuals=1000).jumps_ahead > 3
            True
        """
        return self.jumps - max(self.student, 0.0) - float(np.log(self.residuals)) / 2

    def beyond(self, chance: "Tails") -> "Tails":
        """Gives the gains beyond those of residuals that have no tails but what the regression makes.

        Args:
            chance: Of simulated residuals.

        Returns:
            The gains.

        Example:
            >>> tails = nke.fitting.Tails(40.0, 10.0, 4.0, 1000)
            >>> tails.beyond(nke.fitting.Tails(15.0, -2.0, 20.0, 1000)).jumps
            25.0
        """
        return self._replace(jumps=self.jumps - max(chance.jumps, 0.0))


def _student(w: Float[np.ndarray, " t"], freedom: float, iterations: int = 12) -> float:
    """The log likelihood of Student's t at its best scale, by expectation maximisation."""
    square = float(np.median(np.abs(w))) ** 2
    for _ in range(iterations):
        square = float(np.mean(w**2 * (freedom + 1) / (freedom + w**2 / square)))
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - np.log(freedom * np.pi * square) / 2
    return float(len(w) * constant - (freedom + 1) / 2 * np.log1p(w**2 / (freedom * square)).sum())
