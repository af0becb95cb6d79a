"""The type checker that enforces the package's array shapes while tests run.

What may be an array (``ArrayLike``) is left to the package's own checks, whose errors say more.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from types import FunctionType
from typing import Any, get_type_hints

import jaxtyping
from beartype import BeartypeConf, FrozenDict, beartype
from numpy.typing import ArrayLike

checked = beartype(
    conf=BeartypeConf(
        is_pep484_tower=True, hint_overrides=FrozenDict({ArrayLike: object}), violation_type=jaxtyping.TypeCheckError
    )
)
jaxtyped = jaxtyping.jaxtyped


def enforce_shapes(*packages: str) -> None:
    """Checks arguments and results of all functions of some packages, from their import on."""
    jaxtyping.jaxtyped = checked_once  # which the import hook puts above every function and class
    jaxtyping.install_import_hook(packages, "shapes.checked")


def checked_once(decorated: Any = None, *, typechecker: Callable) -> Any:
    """What ``jaxtyped`` checks, in a third of its time.

    That binds the arguments to the signature and checks them twice, before the call and once more with the result;
    here one checker sees arguments and result. What it has no place for is left to ``jaxtyped``.
    """
    if decorated is None:
        return functools.partial(checked_once, typechecker=typechecker)
    if isinstance(decorated, classmethod | staticmethod):
        return type(decorated)(checked_once(decorated.__func__, typechecker=typechecker))
    if inspect.isclass(decorated) and is_dataclass(decorated):
        start = decorated.__init__
        if not hasattr(start, "shapes_checked"):
            decorated.__init__ = checked_once(start, typechecker=typechecker)
        return decorated
    if not isinstance(decorated, FunctionType) or inspect.isgeneratorfunction(decorated):
        return jaxtyped(decorated, typechecker=typechecker)
    inner = FunctionType(
        decorated.__code__, decorated.__globals__, decorated.__name__, decorated.__defaults__, decorated.__closure__
    )
    inner.__kwdefaults__, inner.__module__ = decorated.__kwdefaults__, decorated.__module__
    inner.__qualname__ = decorated.__qualname__
    inner.__annotations__ = {name: _resolved(hint, decorated) for name, hint in decorated.__annotations__.items()}
    check = typechecker(inner)
    if check is inner:  # nothing to check
        return decorated

    @functools.wraps(decorated)
    def within(*args, **kwargs):
        __tracebackhide__ = True
        with jaxtyped("context"):  # in which one letter is one length
            return check(*args, **kwargs)

    within.shapes_checked = True
    return within


def _resolved(hint: Any, function: FunctionType) -> Any:
    """The type that an annotation in quotes means; where that is not known yet, any type, as in ``jaxtyped``."""
    holder = type("holder", (), {"__annotations__": {"value": hint}})
    try:
        return get_type_hints(holder, function.__globals__, include_extras=True)["value"]
    except Exception:
        return Any
