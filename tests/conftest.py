"""Array shapes in annotations are enforced in tests; exact comparisons run in double precision."""

import os
from pathlib import Path

# Tests compile much and compute little: skip the compiler's expensive passes, and share what is compiled between the
# test processes and with the next run. Must be set before JAX starts.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")

import jax
import pytest
from jaxtyping import install_import_hook

install_import_hook("nke", "shapes.checked")


@pytest.fixture
def double_precision():
    """JAX in float64 for the length of one test."""
    with jax.enable_x64(True):
        yield
