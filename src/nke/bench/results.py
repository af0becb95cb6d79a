"""The results file: one JSON line for each cell, appended whole."""

import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from nke.bench.measure import Outcome, Status, Task
from nke.files.atomic import write_atomically

Key = tuple[str, str, int]


class Results:
    """A folder with ``results.jsonl`` and the paths of the first seed."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.file = folder / "results.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self._drop_torn_line()

    def _drop_torn_line(self) -> None:
        """A line cut short by a kill or a full disk was never finished: its cell runs again."""
        if self.file.exists():
            text = self.file.read_bytes()
            whole = text.rfind(b"\n") + 1
            if whole < len(text):
                os.truncate(self.file, whole)

    def add(self, outcome: Outcome) -> None:
        """Writes a result; the paths first, since a line says that all of its cell is there."""
        record = outcome.record
        if outcome.paths is not None:
            packed = io.BytesIO()
            np.savez_compressed(packed, paths=outcome.paths.astype(np.float32))
            self._paths_file(record["system"], record["method"]).parent.mkdir(exist_ok=True)
            write_atomically(self._paths_file(record["system"], record["method"]), packed.getvalue())
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def records(self) -> list[dict[str, Any]]:
        """Reads all lines."""
        if not self.file.exists():
            return []
        return [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]

    def of(self, tasks: Iterable[Task]) -> dict[Key, dict[str, Any]]:
        """Finds the latest record of each task that was run with this very configuration."""
        wanted = {_key(task): json.loads(json.dumps(task.configuration)) for task in tasks}
        found = {}
        for record in self.records():
            key = record["system"], record["method"], record["seed"]
            if record["configuration"] == wanted.get(key):
                found[key] = record
        return found

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """Lists the tasks not run yet or failed by an error; what diverged or was capped is done."""
        tasks = list(tasks)
        found = self.of(tasks)
        return [task for task in tasks if _key(task) not in found or found[_key(task)]["status"] == Status.FAILED]

    def paths(self, system: str, method: str) -> np.ndarray | None:
        """Reads the paths that were kept for the figures."""
        file = self._paths_file(system, method)
        return np.load(file)["paths"] if file.exists() else None

    def _paths_file(self, system: str, method: str) -> Path:
        return self.folder / "paths" / f"{system}-{method}.npz"


def _key(task: Task) -> Key:
    return task.system, task.method, task.seed
