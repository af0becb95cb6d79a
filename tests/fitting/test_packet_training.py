"""The paper's training on packets: how packets are formed, and where the jump network starts."""

import jax.numpy as jnp
import numpy as np
import pytest

from nke.data import Coordinates, Trajectories
from nke.fitting import FitRun, Schedule, Trainer
from nke.fitting.packet_training import Packing, initial_jump_network
from stationary_paths import STATES, STEP


@pytest.mark.parametrize("pool", [True, False])
def test_packets_hold_particles_of_the_coordinates_of_training(pool):
    data = Trajectories(STATES[:40], STEP)
    to, seen = Coordinates.zscore(data), data.transitions()
    jumped = np.arange(len(seen)) % 7 == 0
    packed = Packing(to, 8, pool, np.random.default_rng(0))(seen, jumped)
    np.testing.assert_allclose(packed.x, to.to(seen.x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(packed.y - packed.x, packed.displacement, atol=1e-5)
    np.testing.assert_array_equal(packed.jumped, jumped)
    assert packed.members.shape[-1] == 8
    assert int(packed.particles.max()) < len(seen)
    assert int(packed.members.max()) < packed.particles.shape[1]
    times = seen.time[np.asarray(packed.particles)]
    assert (np.ptp(times, axis=1) == 0).all() == (not pool)


def test_the_jump_network_starts_at_share_and_size_of_the_jumps():
    """A coordinate that never jumps gets a thousandth of the largest size, so that it has a covariance."""
    jumps = np.random.default_rng(0).normal(size=(500, 2)) * [3.0, 0.0]
    network = initial_jump_network(jumps, 0.04, 2, 2, 8, 1, Trainer(Schedule(), FitRun(0)))
    law = network(jnp.zeros(2))
    assert -np.expm1(float(law.log_no_jump)) == pytest.approx(0.04, rel=1e-4)
    size = np.sqrt(np.mean(jumps[:, 0] ** 2))
    for covariance in law.covariances:
        np.testing.assert_allclose(np.sqrt(np.diag(covariance)), [size, 1e-3 * size], rtol=0.01)
