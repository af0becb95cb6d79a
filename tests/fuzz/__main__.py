"""Runs cases in processes of limited memory, each case in limited time, and prints what came of them.

python -m tests.fuzz [CASES] [FIRST]
"""

import os
import resource
import select
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

MEMORY = 4 << 30  # bytes of address space
SECONDS = 60  # for one case, on a machine that does other things too
START = 600  # for imports and the first compilations there
CASES = 10_000  # of one process: Linux allows a process 65,530 maps of memory, and compiled programs keep theirs
ROOT = Path(__file__).parents[2]


def work(first: int, last: int) -> None:
    """The cases of some numbers, one line each; a process of its own."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from tests.fuzz.targets import new_corpus, run

    corpus = new_corpus()
    try:
        for number in range(first, last):
            target, outcome = run(number, corpus)
            print(f"{number}\t{target}\t{outcome}", flush=True)
    finally:
        shutil.rmtree(corpus.folder, ignore_errors=True)


def supervise(cases: int, first: int = 0, seconds: float = float("inf")) -> tuple[Counter, list[str]]:
    """Runs cases and counts outcomes; a case that crashes or hangs its process is counted, and the next ones go on."""
    counts: Counter = Counter()
    failures, number, last, deadline = [], first, first + cases, time.monotonic() + seconds
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT), *sys.path])}
    while number < last and time.monotonic() < deadline:
        end = min(last, number + CASES)
        command = [sys.executable, "-m", "tests.fuzz", "work", str(number), str(end)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, bufsize=0, env=environment, cwd=ROOT, **pipes)
        assert process.stdout is not None
        ended, patience = "", START  # the first case waits for the imports
        while number < end and time.monotonic() < deadline:
            if not select.select([process.stdout], [], [], patience)[0]:
                ended = "HANG"
                break
            line = process.stdout.readline().decode()
            if not line and patience == START:
                raise RuntimeError(f"the process of the cases did not start: {' '.join(command)}")
            if not line:
                ended = "CRASH"
                break
            patience = SECONDS
            _, target, outcome = line.rstrip("\n").split("\t")
            counts[target, outcome] += 1
            if outcome.isupper():
                failures.append(line.strip())
            number += 1
        process.kill()
        process.wait()
        if ended:
            ended = f"{ended} {process.returncode}" if ended == "CRASH" else ended
            counts["unknown", ended] += 1
            failures.append(f"{number}\t?\t{ended}")
            number += 1
    return counts, failures


def table(counts: Counter) -> str:
    outcomes = sorted({outcome for _, outcome in counts}, key=lambda word: (word.isupper(), word))
    targets = sorted({target for target, _ in counts})
    rows = [f"{'':18}" + "".join(f"{outcome:>12}" for outcome in outcomes)]
    rows += [f"{target:18}" + "".join(f"{counts[target, outcome]:12}" for outcome in outcomes) for target in targets]
    return "\n".join([*rows, f"{counts.total()} cases"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(int(sys.argv[2]), int(sys.argv[3]))
    else:
        found, failed = supervise(*map(int, sys.argv[1:4] or ["1000"]))
        print(table(found))
        print("\n".join(failed[:50]))
        sys.exit(bool(failed))
