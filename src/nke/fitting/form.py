"""The form of a law: which functions drift, noise and jumps are."""

from dataclasses import asdict, dataclass
from typing import Any

NOISE_FORMS = ("constant", "plain", "diagonal", "relative")
POLYNOMIAL_NOISE_FORMS = ("constant", "relative")  # forms of the noise that need no network
JUMP_SHAPES = ("shared", "state-dependent")


@dataclass(frozen=True)
class ModelForm:
    """What functions a law is made of.

    Attributes:
        noise: "constant", "plain" (any function of the state), "diagonal" (likewise, independent between coordinates)
            or "relative" (in proportion to the state).
        substeps: Parts into which the discrete model cuts each step.
        degree: Highest power of the state in the polynomial part of the drift.
        networks: Whether noise and jumps have networks.
        drift_network: Whether the drift has one; None: as ``networks``.
        basis: The functions of the state that the drift is a sum of, "powers" or those of another family of laws.

    Example:
        >>> print(result.form)
        constant noise, drift of degree 1
    """

    noise: str
    substeps: int = 1
    degree: int = 1
    networks: bool = True
    drift_network: bool | None = None
    basis: str = "powers"

    @property
    def has_drift_network(self) -> bool:
        """Whether the drift has a network beside its polynomial.

        Example:
            >>> result.form.has_drift_network
            False
        """
        return self.networks if self.drift_network is None else self.drift_network

    @property
    def drift(self) -> str:
        """The drift in words.

        Example:
            >>> result.form.drift
            'polynomial of degree 1'
        """
        sums = f"polynomial of degree {self.degree}" if self.basis == "powers" else f"sum of {self.basis}"
        return f"{sums} and network" if self.has_drift_network else sums

    def __str__(self) -> str:
        drift = f"of degree {self.degree}" if self.basis == "powers" else f"by {self.basis}"
        parts = [f"{self.noise} noise", f"drift {drift}"]
        return ", ".join(parts + [f"{self.substeps} sub-steps"] * (self.substeps > 1))

    def to_dict(self) -> dict[str, Any]:
        """Gives the form as plain values.

        Returns:
            The fields, ready for JSON.

        Example:
            >>> result.form.to_dict()["noise"]
            'constant'
        """
        return asdict(self)
