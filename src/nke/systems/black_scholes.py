"""The multivariate Black–Scholes model: correlated prices."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from nke.arrays import as_numbers
from nke.data import Trajectories
from nke.errors import InputError
from nke.systems.base import coordinate_names
from nke.systems.log_normal import LogNormal


@dataclass(frozen=True)
class BlackScholes(LogNormal):
    """The paper's benchmark (appendix "Multivariate Black–Scholes"), for any number of assets.

        dS_i = μ_i S_i dt + S_i Σ_j σ_i L_ij dW_j,  LLᵀ = ρ,  a_ij(S) = σ_i ρ_ij σ_j S_i S_j

    Prices start at S₀ = exp(0.1 N(0, I)).

    Args:
        growth: Rates of growth μ, one for each asset.
        volatility: Volatilities σ > 0.
        correlation: Correlation matrix ρ, symmetric and positive definite with ones on its diagonal.

    Raises:
        InputError: The lengths do not fit each other, or a value is not as stated.

    Example:
        >>> system = nke.systems.BlackScholes([0.1, 0.0], volatility=[0.2, 0.1], correlation=[[1, 0.5], [0.5, 1]])
        >>> system.drift([1.0, 2.0]).tolist(), system.diffusion([1.0, 2.0]).round(3).tolist()
        ([0.1, 0.0], [[0.04, 0.02], [0.02, 0.04]])
    """

    growth: Sequence[float] = (0.05, 0.06, 0.04)
    volatility: Sequence[float] = (0.20, 0.15, 0.25)
    correlation: Sequence[Sequence[float]] = ((1.0, 0.66, 0.33), (0.66, 1.0, 0.66), (0.33, 0.66, 1.0))
    dimension: int = field(default=3, init=False, repr=False)

    def __post_init__(self):
        n = len(self.growth)
        growth = _finite_array(self.growth, "growth", (n,))
        volatility = _finite_array(self.volatility, "volatility", (n,))
        correlation = _finite_array(self.correlation, "correlation", (n, n))
        if (volatility <= 0).any():
            raise InputError(
                f"expected every volatility of BlackScholes to be > 0, but got {self.volatility}; "
                "leave out an asset that does not fluctuate"
            )
        _check_correlation(correlation)
        # Tuples, so that the system stays frozen and hashable.
        object.__setattr__(self, "growth", tuple(growth.tolist()))
        object.__setattr__(self, "volatility", tuple(volatility.tolist()))
        object.__setattr__(self, "correlation", tuple(map(tuple, correlation.tolist())))
        object.__setattr__(self, "dimension", n)

    @classmethod
    def maximum_likelihood(cls, data: Trajectories) -> "BlackScholes":
        """Fits the parameters by maximum likelihood: the best that a fit of the true family can reach.

        Args:
            data: Trajectories of prices, at any times.

        Returns:
            The system under which the trajectories are most likely.

        Example:
            >>> paths = nke.systems.BlackScholes().simulate(100, seed=0)
            >>> [round(sigma, 2) for sigma in nke.systems.BlackScholes.maximum_likelihood(paths).volatility]
            [0.2, 0.15, 0.25]
        """
        seen = data.transitions()
        moved, step = np.log(seen.y) - np.log(seen.x), seen.step[:, None]
        log_growth = moved.sum(axis=0) / step.sum()
        residual = (moved - step * log_growth) / np.sqrt(step)
        covariance = residual.T @ residual / len(seen)
        volatility = np.sqrt(np.diag(covariance))
        correlation = covariance / volatility[:, None] / volatility
        np.fill_diagonal(correlation, 1.0)
        return cls((log_growth + volatility**2 / 2).tolist(), volatility.tolist(), correlation.tolist())

    @property
    def names(self) -> tuple[str, ...]:
        """The names price1, price2, …; price alone for one asset.

        Example:
            >>> nke.systems.BlackScholes().names
            ('price1', 'price2', 'price3')
        """
        return coordinate_names("price", self.dimension)

    @property
    def growth_rates(self) -> Float[np.ndarray, " d"]:
        """Rates of growth μ, shape (d,).

        Example:
            >>> nke.systems.BlackScholes().growth_rates.tolist()
            [0.05, 0.06, 0.04]
        """
        return np.array(self.growth)

    @property
    def volatility_matrix(self) -> Float[np.ndarray, "d d"]:
        """Matrix diag(σ) L with LLᵀ = ρ, shape (d, d).

        Example:
            >>> system = nke.systems.BlackScholes([0.1, 0.0], volatility=[0.5, 1.0], correlation=[[1, 0.6], [0.6, 1]])
            >>> system.volatility_matrix.round(3).tolist()
            [[0.5, 0.0], [0.6, 0.8]]
        """
        return np.array(self.volatility)[:, None] * np.linalg.cholesky(np.array(self.correlation))


def _finite_array(value: Any, name: str, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """Converts a parameter to an array of finite numbers of the expected shape."""
    array = np.asarray(as_numbers(value, name), np.float64)
    if array.shape != shape or not np.isfinite(array).all() or array.size == 0:
        raise InputError(
            f"expected {name} of BlackScholes to be finite numbers of shape {shape}, but got {value!r}; "
            "growth says how many assets there are"
        )
    return array


def _check_correlation(correlation: Float[np.ndarray, "n n"]):
    """Refuses a matrix that is not the correlation matrix of distinct assets."""
    symmetric = np.allclose(correlation, correlation.T, rtol=0, atol=1e-12)
    if not symmetric or not np.allclose(np.diag(correlation), 1.0, rtol=0, atol=1e-12):
        raise InputError(
            "expected a symmetric correlation matrix with ones on its diagonal, "
            f"but got {correlation.tolist()}; put standard deviations into volatility"
        )
    if np.linalg.eigvalsh(correlation)[0] <= 1e-12:
        raise InputError(
            f"expected a positive definite correlation matrix, but got {correlation.tolist()}; "
            "no set of assets has these correlations, or one asset follows from the others"
        )
