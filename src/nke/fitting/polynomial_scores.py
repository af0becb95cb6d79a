"""Scores of polynomial laws with constant noise and without jumps, in NumPy: nothing is compiled for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from nke.fitting.batches import Steps
from nke.fitting.packet_scores import LinearFunctions, PacketScores
from nke.fitting.smooth_basis import FeatureSet
from nke.operators import ConstantFactor, DriftNetwork, ForwardPacket, Generator, TransitionRule
from nke.operators.networks.triangular import BEND, FLOOR


@dataclass(frozen=True)
class PolynomialScores:
    """Log densities and scores of a polynomial law, as one that is linear in its parameters.

    Attributes:
        packet: The same law with the logarithms of the diagonal of its noise factor as parameters.
        diagonal: Which of the parameters are on that diagonal.
    """

    packet: PacketScores
    diagonal: Bool[np.ndarray, " p"]

    @classmethod
    def of(cls, generator: Generator, places: Any) -> "PolynomialScores | None":
        """Looks at a law.

        Args:
            generator: The law.
            places: Where in the vector of its parameters the entries of each array are, in its structure.

        Returns:
            Its scores; None where its drift is no polynomial, its noise not constant, or it has jumps.
        """
        drift, noise = generator.drift_network, generator.noise_factor
        if generator.jump is not None or not isinstance(drift, DriftNetwork) or not isinstance(noise, ConstantFactor):
            return None
        skip, raw = places.drift_network.body.skip, places.noise_factor.raw
        if drift.body.mlp is not None or raw is None or skip.weight is None:  # a network, or something is held fixed
            return None
        slopes, constants, raw = (a.astype(int) for a in (skip.weight, skip.bias, raw))
        r = len(constants)
        inputs = _inputs(drift)
        features = FeatureSet(inputs, drift.body.degree, (), drift.body.pairs)
        rows, columns = np.divmod(np.arange(r * (1 + slopes.shape[1])), 1 + slopes.shape[1])
        table = np.concatenate([constants[:, None], slopes], axis=1)
        linear = LinearFunctions(features, rows, columns, table.ravel(), np.asarray(drift.scale.value, np.float64))
        entries = np.arange(len(raw))
        factor = LinearFunctions(FeatureSet(inputs, 1, ()), entries, 0 * entries, raw, np.ones(len(raw)))
        i, j = np.tril_indices(r)
        diagonal = np.isin(np.arange(table.size + len(raw)), raw[i == j])
        start = np.asarray(noise.start.value, np.float64)
        return cls(PacketScores(linear, factor, start, generator.constraint), diagonal)

    def suits(self, rule: TransitionRule) -> bool:
        """Tells whether it has the scores of a discrete model: of packets that are not cut into sub-steps."""
        return isinstance(rule, ForwardPacket) and rule.substeps == 1

    def batches(
        self, rule: TransitionRule, entries: Float[np.ndarray, " p"], data: Steps
    ) -> Iterator[tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n p"]]]:
        """Computes log densities and scores, some transitions at a time.

        Args:
            rule: The discrete model, one that ``suits``.
            entries: The parameters.
            data: The transitions.

        Yields:
            Log densities and scores.
        """
        assert isinstance(rule, ForwardPacket)
        u = entries[self.diagonal] + 1 - BEND / 4  # as in nearly_linear
        root = np.sqrt(u**2 + BEND)
        positive = (u + root) / 2 + FLOOR
        values, slope = entries.copy(), np.ones(len(entries))
        values[self.diagonal], slope[self.diagonal] = np.log(positive), (1 + u / root) / 2 / positive
        for value, score in self.packet.batches(rule, values, data):
            yield value, score * slope


def _inputs(drift: DriftNetwork) -> int:
    """Number of coordinates that a polynomial sees."""
    terms, degree, inputs = drift.body.skip.weight.shape[1], drift.body.degree, 1
    while len(FeatureSet(inputs, degree, (), drift.body.pairs).groups) - 1 < terms:
        inputs += 1
    return inputs
