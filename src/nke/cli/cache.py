"""The persistent compilation cache: the second run of a command need not compile again."""

import os

from nke.caching import LEAST_SECONDS, default_folder


def use_compilation_cache() -> None:
    """Tells JAX, before it is imported, where compiled programs are kept; JAX's own variables go first.

    The variable ``NKE_CACHE`` names another folder, or is "off".
    """
    told = os.environ.get("NKE_CACHE", "")
    if told.lower() in ("off", "0", "no", "false"):
        return
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", told or str(default_folder()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", str(LEAST_SECONDS))
