"""Array shapes in annotations are enforced in tests; exact comparisons run in double precision."""

import jax
import pytest
from jaxtyping import install_import_hook

install_import_hook("nke", "shapes.checked")


@pytest.fixture
def double_precision():
    """JAX in float64 for the length of one test."""
    with jax.enable_x64(True):
        yield
