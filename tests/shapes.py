"""The type checker that enforces the package's array shapes while tests run."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
