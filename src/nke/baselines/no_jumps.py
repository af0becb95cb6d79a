"""What all baselines say about jumps."""

from nke.errors import InputError

NO_JUMPS = "none: this baseline has no jump part, so jumps pass for noise"


def refuse_jumps(jumps: bool | None, baseline: object) -> None:
    """Raises an ``InputError`` where a baseline is asked to learn jumps."""
    if jumps is True:
        raise InputError(
            f"expected jumps=False or None, since {type(baseline).__name__} has no jump part, but got jumps=True; "
            "fit with nke.Likelihood() or nke.MomentMatching() to learn jumps"
        )
