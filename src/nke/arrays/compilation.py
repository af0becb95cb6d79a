"""Functions as compiled programs, where compiling takes longer than running."""

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

# XLA's newer emitters take most of the time of compiling a program of many small fusions, as those here are; the
# older ones give programs that run as fast (docs/design.md).
QUICK = {"xla_cpu_use_fusion_emitters": False}


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a function like ``equinox.filter_jit``, in about half of the time; not within another one.

    Args:
        function: What is compiled for every new shape of its arrays.

    Returns:
        The compiled function.

    Example:
        >>> import jax.numpy as jnp
        >>> from nke.arrays import compiled
        >>> float(compiled(lambda x: 2 * x)(jnp.ones(())))
        2.0
    """

    @cache
    def program() -> Callable[P, R]:
        return eqx.filter_jit(function, compiler_options=_options())  # pyright: ignore[reportCallIssue]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return program()(*args, **kwargs)

    return call


@cache
def _options() -> dict[str, bool] | None:
    """Options of the compiler; none for other processors, and for a version of XLA that does not know them."""
    if jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda x: x, compiler_options=QUICK).lower(np.float32(0)).compile()
    except jax.errors.JaxRuntimeError:
        return None
    return QUICK
