"""A griffe extension: ``Example:`` in a docstring is a section of examples, as ``Examples:`` is."""

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renames the heading of the section, which griffe would take for an admonition."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Looks at the docstring of every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
