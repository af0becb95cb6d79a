"""Writers and fits that are killed at random moments.

Of a writer the old content or the new is there, and no litter after the next write. A fit is continued from its
checkpoint, and ends with the same file, byte for byte, and no litter.

python tests/kills.py [KILLS] [WRITER …] [fit]
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

import nke
from injected_faults import KINDS, NEW, OLD, PACKAGES, in_child, rows, write
from nke.cli.interruption import end_where_interruptions_are_lost
from nke.files.atomic import PREFIX

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


def killed(path: Path, how: signal.Signals, after: float) -> None:
    """Writes new content again and again until the signal comes."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits to ignore it
            end_where_interruptions_are_lost()  # as commands do
            os.write(writing, b"!")
            while True:
                write(path, NEW)
        except BaseException:
            os._exit(1)
    os.read(reading, 1)
    time.sleep(after)
    os.kill(process, how)
    os.waitpid(process, 0)
    os.close(reading)
    os.close(writing)


def content(path: Path) -> str:
    reading, writing = os.pipe()
    in_child(lambda: os.write(writing, str(rows(path)).encode()))
    os.close(writing)
    found = os.read(reading, 100).decode()
    os.close(reading)
    return {"40": "old", "60": "new"}.get(found, "BROKEN")


FIT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import nke
from resumable_fit import run
print("begins", flush=True)
run(sys.argv[1], sys.argv[2], steps=2000)
"""


def fitting(folder: Path) -> subprocess.Popen:
    """A fit in a process of its own, as far as it begins to learn."""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", FIT, str(folder / "run"), str(folder / "model.nke")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=here)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def killed_fits(kills: int, rng: random.Random) -> Counter:
    """Kills fits at moments from their begin, or every second time from their first checkpoint, to their end."""
    total, whole = Counter(), Path(tempfile.mkdtemp(prefix="nke-kills-"))
    clock = time.perf_counter()
    fitting(whole).wait()
    longest, model = time.perf_counter() - clock, (whole / "model.nke").read_bytes()
    for how in SIGNALS:
        counts = Counter()
        for kill in range(kills):
            folder = Path(tempfile.mkdtemp(prefix="nke-kills-"))
            process, checkpoint = fitting(folder), folder / "run" / "likelihood.checkpoint"
            while kill % 2 and not checkpoint.exists() and process.poll() is None:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, longest / 10 if kill % 2 else longest))
            process.send_signal(how)
            process.wait()
            begun = checkpoint.exists()
            counts["ended" if (folder / "model.nke").exists() else "with checkpoint" if begun else "before it"] += 1
            fitting(folder).wait()
            counts["BROKEN"] += (folder / "model.nke").read_bytes() != model
            counts["LITTER"] += any(entry.name.startswith(PREFIX) for entry in folder.rglob("*"))
            shutil.rmtree(folder)
        total += counts
        print("fit", how.name, dict(counts), flush=True)
    return total


def main(kills: int, kinds: list[str]) -> int:
    rng, total = random.Random(0), Counter()
    if "fit" in kinds:
        total += killed_fits(kills, rng)
    for kind in [kind for kind in kinds if kind != "fit"]:
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
    sys.exit(main(int((sys.argv[1:2] or ["20"])[0]), sys.argv[2:] or [*KINDS, "fit"]))
