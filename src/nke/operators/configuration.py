"""Structures as plain JSON values and back: how a model file tells of which parts a model is made.

Every part that can be stored has a ``kind``, a word that stands for its class in files, and two methods:
``configuration()`` gives its kind and options as JSON values, ``from_configuration`` builds a part of the same
structure whose arrays are still to be filled. A registry for each role lists the kinds that may be read; a word from a
file is looked up there and nowhere else.
"""

from typing import Any, TypeVar

import jax

from nke.errors import InputError, InputTypeError

Configuration = dict[str, Any]
Class = TypeVar("Class", bound=type)


class Registry:
    """The kinds of one role, such as all factors of the diffusion tensor."""

    def __init__(self, role: str):
        self.role = role
        self._classes: dict[str, Any] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The words for all kinds of this role."""
        return tuple(self._classes)

    def register(self, cls: Class) -> Class:
        """Class decorator: files may name this class by its ``kind``."""
        self._classes[cls.kind] = cls
        return cls

    def describe(self, part: Any) -> Configuration:
        """The configuration of a part, refused if it is not of a registered class."""
        if self._classes.get(getattr(part, "kind", "")) is not type(part):
            raise InputTypeError(
                f"only models made of networks of nke can be saved; "
                f"a {self.role} of type {type(part).__name__} is none of them"
            )
        return part.configuration()

    def build(self, configuration: Configuration, *context: Any) -> Any:
        """A part of the structure that a configuration describes, its arrays still to be filled."""
        kind = configuration["kind"]
        if kind not in self._classes:
            known = ", ".join(map(repr, sorted(self._classes)))
            raise InputError(
                f"expected a {self.role} of kind {known}, but got {kind!r}; install a newer version of nke"
            )
        return self._classes[kind].from_configuration(configuration, *context)


def any_key() -> jax.Array:
    """The key for networks whose arrays will be filled from a file."""
    return jax.random.key(0)
