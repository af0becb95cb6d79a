"""What all baselines say about jumps."""

from nke.errors import InputError
from nke.fitting import Decision

NO_JUMPS = Decision("Are there jumps?", "none", {}, "this baseline has no jump part, so jumps pass for noise", "jumps")


def refuse_jumps(jumps: bool | None, baseline: object) -> None:
    """Raises an ``InputError`` where a baseline is asked to learn jumps."""
    if jumps is True:
        raise InputError(
            f"expected jumps=False or None, since {type(baseline).__name__} has no jump part, but got jumps=True; "
            "fit with nke.Likelihood() or nke.MomentMatching() to learn jumps"
        )
