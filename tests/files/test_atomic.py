"""A file appears whole or not at all: under failures of every call of the system, kills, and full disks."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nke
from nke.files.atomic import PREFIX, _host, require_writable, whole_folder, write_atomically
from recorded_files import ensemble


def litter(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir() if entry.name.startswith(PREFIX)]


def killed_writer(folder: Path, kind: str = "file") -> Path:
    """A temporary file or folder as a writer that was killed left it."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    path = folder / f"{PREFIX}{_host()}-{process.pid}-01234567"
    path.mkdir() if kind == "folder" else path.write_bytes(b"half of it")
    return path


class TestFile:
    def test_the_target_of_a_symlink_is_replaced(self, tmp_path):
        (tmp_path / "archive").mkdir()
        (tmp_path / "archive" / "law.nke").write_bytes(b"old")
        link = tmp_path / "law.nke"
        link.symlink_to("archive/law.nke")
        write_atomically(link, b"new")
        assert link.is_symlink()
        assert (tmp_path / "archive" / "law.nke").read_bytes() == b"new"

    def test_a_symlink_to_nothing_gets_a_target(self, tmp_path):
        (tmp_path / "link").symlink_to("there")
        write_atomically(tmp_path / "link", b"new")
        assert (tmp_path / "there").read_bytes() == b"new"

    def test_permissions_are_kept(self, tmp_path):
        (tmp_path / "mine").write_bytes(b"old")
        (tmp_path / "mine").chmod(0o600)
        write_atomically(tmp_path / "mine", b"new")
        assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o600

    def test_a_device_is_not_replaced_by_a_file(self, tmp_path):
        os.mkfifo(tmp_path / "fifo")
        with pytest.raises(FileExistsError, match=r"fifo cannot be written .*FIFO"):
            write_atomically(tmp_path / "fifo", b"new")
        assert (tmp_path / "fifo").is_fifo()

    def test_names_as_long_as_a_file_system_takes(self, tmp_path):
        write_atomically(tmp_path / ("x" * 255), b"new")
        assert (tmp_path / ("x" * 255)).read_bytes() == b"new"

    def test_folder_and_file_are_synced(self, tmp_path, monkeypatch):
        synced, fsync = [], os.fsync

        def noted(descriptor):
            synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", noted)
        write_atomically(tmp_path / "law.nke", b"new")
        assert len(synced) == 2
        assert synced[0].startswith(PREFIX), "the content, before it has its name"
        assert synced[1] == tmp_path.name, "its name"


class TestLitter:
    @pytest.mark.parametrize("kind", ["file", "folder"])
    def test_of_killed_writers_is_removed_by_the_next(self, tmp_path, kind):
        killed_writer(tmp_path, kind)
        write_atomically(tmp_path / "other.nke", b"new")
        assert litter(tmp_path) == []

    def test_of_living_writers_and_other_machines_stays(self, tmp_path):
        living, elsewhere = f"{PREFIX}{_host()}-{os.getppid()}-0", f"{PREFIX}00000000-999999999-0"
        for name in (living, elsewhere, ".nke-of-the-user", ".other"):
            (tmp_path / name).write_bytes(b"")
        write_atomically(tmp_path / "law.nke", b"new")
        assert {entry.name for entry in tmp_path.iterdir()} == {
            living,
            elsewhere,
            ".nke-of-the-user",
            ".other",
            "law.nke",
        }

    def test_a_store_that_was_moved_away_is_put_back(self, tmp_path):
        old = killed_writer(tmp_path, "folder") / "old" / "data.zarr"
        old.mkdir(parents=True)
        (old / "zarr.json").write_text("{}")
        write_atomically(tmp_path / "other", b"")
        assert (tmp_path / "data.zarr" / "zarr.json").read_text() == "{}"
        assert litter(tmp_path) == []


class TestFolder:
    @pytest.mark.parametrize("exchange", [True, False])
    @pytest.mark.parametrize("fails", ["rename", None])
    def test_replacing_never_leaves_nothing(self, tmp_path, monkeypatch, exchange, fails):
        """Neither where folders are exchanged in one step, nor where the second of two renames fails."""
        (tmp_path / "store").mkdir()
        (tmp_path / "store" / "old").write_text("old")
        if not exchange:
            monkeypatch.setattr("nke.files.atomic._exchange", lambda one, other: False)
        rename, calls = os.rename, []

        def failing(one, other):
            calls.append(other)
            if fails and len(calls) == 2:
                raise OSError(errno.EIO, "input/output error")
            rename(one, other)

        monkeypatch.setattr(os, "rename", failing)
        try:
            with whole_folder(tmp_path / "store") as new:
                new.mkdir()
                (new / "new").write_text("new")
        except OSError as error:
            assert "store cannot be written" in str(error)  # noqa: PT017
        [left] = (tmp_path / "store").iterdir()
        assert left.name == ("old" if fails and not exchange else "new")
        assert litter(tmp_path) == []

    def test_a_symlink_to_a_store_stays_one(self, tmp_path):
        (tmp_path / "archive").mkdir()
        nke.write(ensemble(), tmp_path / "archive" / "data.zarr")
        (tmp_path / "data.zarr").symlink_to("archive/data.zarr")
        nke.write(nke.Trajectories([1.0, 2.0, 4.0], 1.0), tmp_path / "data.zarr")
        assert (tmp_path / "data.zarr").is_symlink()
        np.testing.assert_array_equal(nke.read(tmp_path / "archive" / "data.zarr").states[0].ravel(), [1, 2, 4])


class TestTried:
    def test_a_place_that_cannot_be_written_is_found_before_the_work(self, tmp_path):
        """/proc takes no files, not even from root; a read-only mount neither."""
        with pytest.raises(OSError, match=r"/proc/law\.nke cannot be written \("):
            require_writable(Path("/proc/law.nke"))
        require_writable(tmp_path / "law.nke")
        assert list(tmp_path.iterdir()) == []

    def test_before_a_fit_with_checkpoints(self):
        data = nke.Trajectories(np.arange(20.0), 0.1)
        with pytest.raises(OSError, match="/proc"):
            nke.fit(data, checkpoint="/proc/self/run", progress=False)


def with_faults(*arguments: str) -> str:
    script = Path(__file__).parents[1] / "injected_faults.py"
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, env=here)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_faults_at_every_step():
    """Each call of the system fails in turn, the process is killed there, the disk is full: the old file or the new."""
    assert ", 0 broken" in with_faults("nke", "kill", "full disk", "bytes")


def test_a_full_disk_is_never_silent():
    """NumPy's own writing to a file does not hear of it."""
    assert ", 0 broken" in with_faults("npy", "bytes")


@pytest.mark.validation
def test_faults_at_every_step_of_every_writer():
    table = with_faults()
    print(table)
    assert ", 0 broken" in table
