"""The persistent compilation cache: what one process has compiled, later ones need not compile again."""

import os
from pathlib import Path

LEAST_SECONDS = 0.1  # of compilation from which on a program is kept


def default_folder() -> Path:
    """Where compiled programs are kept if nothing is said."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nke" / "jax"


def cache(folder: str | os.PathLike[str] | None = None) -> Path:
    """Keeps compiled programs in a folder, so that later processes find them there.

    It is off unless this is called, since it sets JAX's persistent compilation cache, which then holds for all of JAX
    in this process. Several processes may use the same folder at once: what one has not finished writing another
    compiles by itself. The folder can be removed at any time.

    Args:
        folder: Where; None: where JAX keeps programs already, else where the command line does,
            ``$XDG_CACHE_HOME/nke/jax`` (``~/.cache/nke/jax``).

    Returns:
        The folder.

    Example:
        >>> folder = nke.cache("programs")  # doctest: +SKIP
    """
    import jax  # only here: the command line must not wait for it
    from jax.experimental.compilation_cache import compilation_cache

    chosen = Path(folder or folder_in_use() or default_folder()).expanduser()
    chosen.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(chosen))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", LEAST_SECONDS)
    compilation_cache.reset_cache()  # JAX looks for a folder only once, when it first compiles
    return chosen


def folder_in_use() -> str | None:
    """Where JAX keeps compiled programs in this process; None where it does not."""
    import jax

    return jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
