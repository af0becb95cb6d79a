"""A damaged HDF5 file at which its library hangs is given up."""

import os
import sys
import time

import numpy as np
import pytest

import nke
from nke.errors import DamagedFileError
from nke.files import probe
from nke.files.probe import require_readable

h5py = pytest.importorskip("h5py")


@pytest.fixture
def hanging(tmp_path):
    """Text in a heap whose object is longer than the heap: HDF5 looks for its end for ever."""
    path = tmp_path / "a.h5"
    nke.write(nke.Trajectories(np.arange(5.0), 1.0), path)
    content = bytearray(path.read_bytes())
    at = content.index(b"GCOL")
    content[at + 16 + 8 : at + 16 + 16] = b"\xff" * 8  # the size of the first object
    path.write_bytes(bytes(content))
    return path


def test_a_sound_file_is_read(tmp_path):
    nke.write(nke.Trajectories(np.arange(5.0), 1.0), tmp_path / "a.h5")
    require_readable(tmp_path / "a.h5")


@pytest.mark.parametrize(
    ("program", "words"),
    [("while True: pass", "did not end reading it within 1 s"), ("import os; os.abort()", "crash")],
)
def test_a_hang_and_a_crash_are_refused(tmp_path, monkeypatch, program, words):
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "a.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    monkeypatch.setattr(probe, "__file__", str(tmp_path / "program.py"))
    monkeypatch.setattr(probe, "SECONDS", 1.0)
    clock = time.perf_counter()
    with pytest.raises(DamagedFileError, match=rf"a\.h5 is damaged: .*{words}"):
        nke.read(tmp_path / "a.h5")
    assert time.perf_counter() - clock < 30


def test_the_probe_needs_nothing_of_nke(tmp_path):
    """It starts in a fraction of a second."""
    nke.write(nke.Trajectories(np.arange(5.0), 1.0), tmp_path / "a.h5")
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-I", probe.__file__, str(tmp_path / "a.h5")]) == 0


def test_a_damaged_heap(hanging):
    with pytest.raises(DamagedFileError):
        nke.read(hanging)
