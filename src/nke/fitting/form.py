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

    Example:
        >>> print(result.form)
        constant noise, drift of degree 1
    """

    noise: str
    substeps: int = 1
    degree: int = 1
    networks: bool = True
    drift_network: bool | None = None

    @property
    def has_drift_network(self) -> bool:
        """Whether the drift has a network beside its polynomial.

        Example:
            >>> result.form.has_drift_network
            False
        """
        return self.networks if self.drift_network is None else self.drift_network

    def __str__(self) -> str:
        parts = [f"{self.noise} noise", f"drift of degree {self.degree}"]
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
