"""The type checker that enforces the package's array shapes while tests run.

What may be an array (``ArrayLike``) is left to the package's own checks, whose errors say more.
"""

from beartype import BeartypeConf, FrozenDict, beartype
from numpy.typing import ArrayLike

checked = beartype(conf=BeartypeConf(is_pep484_tower=True, hint_overrides=FrozenDict({ArrayLike: object})))
