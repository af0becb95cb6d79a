"""Writers that are killed at random moments: the old content or the new is there, and no litter after the next write.

python tests/kills.py [KILLS] [WRITER …]
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

import nke
from injected_faults import KINDS, NEW, OLD, PACKAGES, in_child, rows, write
from nke.files.atomic import PREFIX

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


def killed(path: Path, how: signal.Signals, after: float) -> None:
    """Writes new content again and again until the signal comes."""
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            while True:
                write(path, NEW)
        except BaseException:
            os._exit(1)
    time.sleep(after)
    os.kill(process, how)
    os.waitpid(process, 0)


def content(path: Path) -> str:
    reading, writing = os.pipe()
    in_child(lambda: os.write(writing, str(rows(path)).encode()))
    os.close(writing)
    found = os.read(reading, 100).decode()
    os.close(reading)
    return {"40": "old", "60": "new"}.get(found, "BROKEN")


def main(kills: int, kinds: list[str]) -> int:
    rng, total = random.Random(0), Counter()
    for kind in kinds:
        for package in ("pandas", "xarray", PACKAGES.get(kind, "pandas")):
            import_module(package)
        clock = time.perf_counter()
        assert in_child(lambda kind=kind: write(Path(tempfile.mkdtemp(prefix="nke-kills-")) / f"a.{kind}", OLD)) == 0
        longest = 3 * (time.perf_counter() - clock)
        for how in SIGNALS:
            counts = Counter()
            for _ in range(kills):
                folder = Path(tempfile.mkdtemp(prefix="nke-kills-"))
                path = folder / f"data.{kind}"
                assert in_child(lambda path=path: write(path, OLD)) == 0
                killed(path, how, rng.uniform(0, longest))
                counts[content(path)] += 1
                nke.files.atomic.write_atomically(folder / "next", b"")
                counts["LITTER"] += any(entry.name.startswith(PREFIX) for entry in folder.iterdir())
                shutil.rmtree(folder)
            total += counts
            print(kind, how.name, dict(counts), flush=True)
    print(f"{kills * len(kinds) * len(SIGNALS)} kills, {total['BROKEN']} broken, {total['LITTER']} with litter")
    return int(total["BROKEN"] + total["LITTER"] > 0)


if __name__ == "__main__":
    sys.exit(main(int((sys.argv[1:2] or ["20"])[0]), sys.argv[2:] or KINDS))
