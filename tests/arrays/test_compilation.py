"""Compiled functions: the same values as any other program, and a way out where XLA does not know its options."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.arrays import compilation as subject
from nke.arrays import compiled


@pytest.fixture(autouse=True)
def fresh():
    subject._options.cache_clear()
    yield
    subject._options.cache_clear()


def double(x, name):
    return {name: 2 * jnp.sin(x)}


def test_it_is_the_function_compiled_once_for_each_shape():
    traced = []

    def counted(x):
        traced.append(x.shape)
        return jnp.cumsum(x)

    program = compiled(counted)
    for n in (3, 3, 4):
        np.testing.assert_allclose(program(jnp.ones(n)), np.arange(1, n + 1))
    assert traced == [(3,), (4,)]
    assert compiled(double)(jnp.ones(2), "a")["a"] == pytest.approx(2 * np.sin(1))
    assert compiled(double).__name__ == "double"


def test_the_options_are_known_to_this_version_of_xla_and_change_nothing_else():
    before = jax.config.values.copy()
    assert subject._options() == (subject.QUICK if jax.default_backend() == "cpu" else None)
    assert jax.config.values == before


def test_unknown_options_are_left_out(monkeypatch):
    monkeypatch.setattr(subject, "QUICK", {"xla_no_such_option": True})
    assert subject._options() is None
    assert float(compiled(jnp.sin)(jnp.zeros(()))) == 0
