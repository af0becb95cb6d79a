"""What a check found: a number, how likely chance explains it, how large it is, what it may mean and what to do."""

from dataclasses import dataclass
from typing import Any

LEVEL = 1e-3  # of every check; some ten of them are wrong about a right model once in a hundred times


@dataclass(frozen=True)
class Finding:
    """One deviation of recorded data from a model.

    A finding is worth telling where chance does not explain it (``p_value`` below the level of the check, all that the
    check compared taken into account) and it is large enough to matter (``size`` beyond ``tolerance``).

    Attributes:
        check: Which check it belongs to, such as "calibration".
        topic: A word for the deviation, such as "noise too small".
        size: How large it is, in the unit that ``meaning`` states.
        tolerance: Size from which on it matters.
        p_value: Probability of as much by chance if the model were right.
        meaning: What was seen, as a sentence.
        advice: What to do, as a sentence.
        severe: Whether the law cannot be right.
        level: The probability below which chance is no explanation.

    Example:
        >>> finding = nke.evaluation.Finding("calibration", "noise too small", 2.0, 1.1, 1e-9, "Too small.", "Refit.")
        >>> finding.matters
        True
    """

    check: str
    topic: str
    size: float
    tolerance: float
    p_value: float
    meaning: str
    advice: str
    severe: bool = False
    level: float = LEVEL

    @property
    def matters(self) -> bool:
        """Whether it is neither chance nor too small to matter."""
        return bool(self.p_value < self.level and abs(self.size) >= self.tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Gives the finding as plain values, ready for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __str__(self) -> str:
        return f"{self.meaning} {self.advice}"
