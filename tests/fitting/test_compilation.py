"""Compiled programs are dropped before a process holds more of them than Linux allows."""

import sys

import jax
import jax.numpy as jnp
import pytest

from nke.fitting.compilation import forget_programs


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no limit of memory maps")
def test_programs_are_dropped_at_their_limit():
    traced = []

    @jax.jit
    def twice(x):
        traced.append(x)
        return 2 * x

    twice(jnp.ones(3))
    assert not forget_programs(share=1.0)
    twice(jnp.ones(3))
    assert len(traced) == 1
    assert forget_programs(share=0.0)
    assert twice(jnp.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert len(traced) == 2
