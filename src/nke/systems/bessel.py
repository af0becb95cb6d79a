"""The modified Bessel function of the first kind, where its own value would underflow or overflow."""

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, hyp0f1, ive


def log_bessel_ratio(q: float, z: Float[np.ndarray, "*batch"]) -> Float[np.ndarray, "*batch"]:
    """Computes log[I_q(z) e^{−z} (z/2)^{−q}] for q > −1 and z ≥ 0; at z = 0 it is −log Γ(q+1)."""
    far = 200.0  # beyond this radius the uniform expansion is accurate to 1e-12
    radius = np.hypot(q, z)
    near = np.where(radius < far, z, 0.0)
    value = ive(q, near)
    direct = (value > 1e-290) & (near > 0) & np.isfinite(value)
    logarithm = np.log(np.where(direct, value, 1.0)) - q * np.log(np.where(direct, near, 2.0) / 2)
    # Where I_q underflows, z²/4 is small against q, and the power series is one term and a correction.
    short = np.where(direct, 0.0, near)
    series = np.log(hyp0f1(q + 1, short**2 / 4)) - gammaln(q + 1) - short
    small = np.where(direct, logarithm, series)
    return np.where(radius < far, small, uniform_expansion(q, z, np.maximum(radius, far)))


def uniform_expansion(
    q: float, z: Float[np.ndarray, "*batch"], radius: Float[np.ndarray, "*batch"]
) -> Float[np.ndarray, "*batch"]:
    """Computes the same by Debye's expansion for large ω = √(q² + z²), the radius (DLMF 10.41.3).

    I_q(z) ≈ e^ω (z/(q + ω))^q (2πω)^{−½} Σ_k U_k(p)/q^k, with U_k(p)/q^k written in p = q/ω.
    """
    p = (q / radius) ** 2
    terms = (
        (3 - 5 * p) / 24,
        (81 - 462 * p + 385 * p**2) / 1152,
        (30375 - 369603 * p + 765765 * p**2 - 425425 * p**3) / 414720,
        (4465125 - 94121676 * p + 349922430 * p**2 - 446185740 * p**3 + 185910725 * p**4) / 39813120,
    )
    correction = sum(term / radius ** (k + 1) for k, term in enumerate(terms))
    excess = q**2 / (radius + z)  # ω − z without cancellation
    return excess + q * np.log(2 / (q + radius)) - np.log(2 * np.pi * radius) / 2 + np.log1p(correction)
