"""The edge between NumPy and compiled rules."""

import numpy as np

from nke.model.batched import BLOCK, in_blocks
from nke.systems import OrnsteinUhlenbeck
from true_models import (
    true_model,
)


def test_blocks_do_not_show():
    """More states than one compiled block holds give the same values, in order."""
    model = true_model(OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5))
    x = np.linspace(-1, 1, BLOCK + 3)[:, None]
    whole = model.drift(x)
    np.testing.assert_array_equal(whole[-5:], model.drift(x[-5:]))
    np.testing.assert_array_equal(whole[:5], model.drift(x[:5]))
    heard = []
    in_blocks(lambda x: x, x, advance=heard.append)
    assert heard == [BLOCK, 3]
