"""Runs the examples of the gallery: writes what each prints to NAME.txt and its picture to NAME.png.

``python docs/gallery/make.py`` runs all of them, ``python docs/gallery/make.py nile vix`` some.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main(names: list[str]) -> None:
    """Runs one example after the other, each in a process of its own; what is compiled is shared."""
    every = sorted(path.stem for path in HERE.glob("*.py") if path != Path(__file__))
    with tempfile.TemporaryDirectory() as compiled:
        for name in names or every:
            print(name, flush=True)
            environment = {"JAX_COMPILATION_CACHE_DIR": compiled, **os.environ}
            done = subprocess.run(
                [sys.executable, "-W", "ignore", f"{name}.py"],
                cwd=HERE,
                env=environment,
                stdout=subprocess.PIPE,
                check=True,
            )
            (HERE / f"{name}.txt").write_bytes(done.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
