"""The Black–Scholes model as printed in the paper, and its fit by maximum likelihood."""

import numpy as np

from nke.systems import BlackScholes, GeometricBrownianMotion
from standard_errors import assert_within_standard_errors


def test_as_printed():
    system, prices = BlackScholes(), np.array([1.0, 2.0, 0.5])
    volatility = np.array([0.20, 0.15, 0.25])
    correlation = np.array([[1, 0.66, 0.33], [0.66, 1, 0.66], [0.33, 0.66, 1]])
    scaled = volatility * prices
    np.testing.assert_allclose(system.diffusion(prices), correlation * np.outer(scaled, scaled))
    np.testing.assert_allclose(system.drift(prices), [0.05, 0.12, 0.02])
    draws = system.simulate_states(50_000, 0, [0.0, 2.0], np.tile(prices, (50_000, 1)))[:, 1]
    assert_within_standard_errors(draws, prices * np.exp(2 * np.array([0.05, 0.06, 0.04])))


def test_one_asset_is_geometric_brownian_motion():
    one = BlackScholes(growth=(0.05,), volatility=(0.2,), correlation=((1.0,),))
    single = GeometricBrownianMotion()
    x, y = [[0.7], [1.3]], [[0.9], [1.2]]
    np.testing.assert_allclose(one.log_prob(y, given=x, step=0.2), single.log_prob(y, given=x, step=0.2), rtol=1e-12)


class TestMaximumLikelihood:
    def test_is_at_the_top(self):
        """Irregular steps; any parameter moved either way makes the data less likely."""
        data = BlackScholes().simulate(40, seed=0, times=np.cumsum([0, 0.02, 0.1, 0.05, 0.3, 0.02]))
        best = BlackScholes.maximum_likelihood(data)
        seen = data.transitions()

        def likelihood(system):
            return system.log_prob(seen.y, given=seen.x, step=seen.step).sum()

        for i in range(3):
            for name in ("growth", "volatility"):
                for change in (-1e-3, 1e-3):
                    moved = list(getattr(best, name))
                    moved[i] += change
                    parameters = {n: getattr(best, n) for n in ("growth", "volatility", "correlation")} | {name: moved}
                    assert likelihood(BlackScholes(**parameters)) < likelihood(best)

    def test_finds_the_truth(self):
        """4 standard errors: σ/√T for the growth (T = 2048 units of time), σ/√(2n) for the volatility."""
        best = BlackScholes.maximum_likelihood(BlackScholes().simulate(1024, seed=1))
        error = np.array(BlackScholes().volatility)
        assert (np.abs(best.growth_rates - BlackScholes().growth_rates) < 4 * error / np.sqrt(2048)).all()
        assert (np.abs(np.array(best.volatility) - error) < 4 * error / np.sqrt(2 * 102_400)).all()
