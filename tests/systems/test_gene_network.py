"""The gene network: its drift by hand, and paths that stay away from the poles."""

import numpy as np

from nke.systems import GeneNetwork


def test_drift_where_every_gene_is_half_on():
    """At y = ½ every H⁺ and H⁻ is ½."""
    truth = [1.2, 1.0, 0.6, 0.9, 0.8, 0.8, 0.4 + 3.5 + 0.4 - 1.0, 0.8, 0.5, 0.1 + 4 / 1.125 - 1.0]
    np.testing.assert_allclose(GeneNetwork().drift(np.full(10, 0.5)), np.array(truth) - 0.5)


def test_drift_tells_the_exponents_apart():
    """At y = 1, H⁻(1, n) = 1/(1 + 2ⁿ)."""
    off = {n: 1 / (1 + 2.0**n) for n in range(1, 7)}
    on = {n: 1 - off[n] for n in off}
    production = [
        0.8 * (off[1] + off[2] + off[4]),
        0.2 * (on[1] + on[2]) + 0.8 * (off[6] + off[4]),
        0.2 * (on[2] + on[4]) + 0.8 * off[4],
        0.2 * on[4] + 0.8 * (off[1] + off[3]),
        0.8 * (off[1] + off[2]),
        0.8 * 2 * off[4],
        0.8 * on[2] + 7 * on[5] + 0.8 * off[4] - 4,
        0.8 * (off[4] + off[1]),
        0.2 * on[2] + 0.8 * off[4],
        0.1 + 2 - 4,
    ]
    np.testing.assert_allclose(GeneNetwork().drift(np.ones(10)), np.array(production) - 1)


def test_paths_stay_away_from_the_poles():
    """Coordinates that enter with odd powers keep away from −½."""
    states = GeneNetwork(dt=0.02).simulate_states(200, 0)
    assert states.shape == (200, 101, 10)
    assert states[..., [0, 1, 7, 9]].min() > -0.45
    assert states.max() < 8
