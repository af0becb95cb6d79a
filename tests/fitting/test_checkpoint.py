"""Checkpoints: a fit that was interrupted goes on to the same model, and nothing else is resumed."""

import os
import signal
import subprocess
import sys
import time

import jax.numpy as jnp
import numpy as np
import pytest

from nke.errors import DamagedFileError, InputError
from nke.fitting import Likelihood
from nke.fitting.checkpoint import Checkpoint, fingerprint
from resumable_fit import run

TREE = {"weights": jnp.arange(6.0).reshape(2, 3), "count": jnp.asarray(7)}


class TestFolder:
    def test_what_was_saved_comes_back(self, tmp_path):
        store = Checkpoint(tmp_path / "new" / "run", "abc")
        assert store.load("likelihood", TREE) is None
        store.save("likelihood", TREE, {"done": 200, "rows": [[1, 0.5]]})
        tree, progress = store.load("likelihood", TREE)
        np.testing.assert_array_equal(tree["weights"], TREE["weights"])
        assert int(tree["count"]) == 7
        assert progress == {"done": 200, "rows": [[1, 0.5]]}

    @pytest.mark.parametrize(
        "stage", ["likelihood", "trial, plain noise, drift of degree 1", "polynomial: a/b\\c", "été *?"]
    )
    def test_file_names_are_portable(self, tmp_path, stage):
        Checkpoint(tmp_path, "abc").save(stage, TREE, {})
        [path] = tmp_path.iterdir()
        assert set(path.name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-")

    def test_another_fit_is_refused(self, tmp_path):
        Checkpoint(tmp_path, "abc").save("likelihood", TREE, {})
        with pytest.raises(InputError, match="another fit"):
            Checkpoint(tmp_path, "def").load("likelihood", TREE)

    def test_another_version_is_refused_by_name(self, tmp_path, monkeypatch):
        store = Checkpoint(tmp_path, "abc")
        monkeypatch.setattr("nke.fitting.checkpoint.version", lambda package: "0.0.7")
        store.save("likelihood", TREE, {})
        monkeypatch.setattr("nke.fitting.checkpoint.version", lambda package: "0.0.8")
        with pytest.raises(InputError, match=r"of nke 0\.0\.7, but this is nke 0\.0\.8.*remove the folder"):
            store.load("likelihood", TREE)

    def test_every_flipped_bit_is_found(self, tmp_path):
        """One bit of each byte: a checkpoint is resumed as it was written or not at all."""
        store = Checkpoint(tmp_path, "abc")
        store.save("likelihood", TREE, {"done": 200})
        [path] = tmp_path.iterdir()
        whole = path.read_bytes()
        for i in range(len(whole)):
            path.write_bytes(whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :])
            with pytest.raises(InputError, match=r"likelihood\.checkpoint .*remove it"):
                store.load("likelihood", TREE)

    def test_names_that_make_the_same_file(self, tmp_path):
        Checkpoint(tmp_path, "abc").save("trial: a", TREE, {})
        with pytest.raises(InputError, match="another fit"):
            Checkpoint(tmp_path, "abc").load("trial a", TREE)

    def test_arrays_of_another_training(self, tmp_path):
        store = Checkpoint(tmp_path, "abc")
        store.save("likelihood", TREE, {})
        with pytest.raises(DamagedFileError, match="arrays are not those of this stage; remove it"):
            store.load("likelihood", {"weights": jnp.zeros(6), "count": jnp.asarray(7)})

    def test_a_damaged_file_is_named(self, tmp_path):
        store = Checkpoint(tmp_path, "abc")
        store.save("likelihood", TREE, {})
        [path] = tmp_path.iterdir()
        path.write_bytes(path.read_bytes()[:20])
        with pytest.raises(DamagedFileError, match=r"likelihood\.checkpoint is .*damaged.*remove it"):
            store.load("likelihood", TREE)


def test_fingerprints_tell_fits_apart():
    x = np.arange(3.0)
    assert fingerprint(x, Likelihood(), 0) == fingerprint(x.copy(), Likelihood(), 0)
    others = [fingerprint(x + 1, Likelihood(), 0), fingerprint(x, Likelihood(width=8), 0), fingerprint(x, None, 1)]
    assert len({fingerprint(x, Likelihood(), 0), *others}) == 4


# A job in the background inherits that interruptions are ignored.
INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from resumable_fit import run
run({folder!r}, {output!r})
"""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("whole")
    run(folder / "run", folder / "model.nke")
    return (folder / "model.nke").read_bytes()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_and_resumed_gives_the_same_model_bit_for_bit(tmp_path, how, uninterrupted):
    folder, output = tmp_path / "run", tmp_path / "model.nke"
    code = INTERRUPTED.format(folder=str(folder), output=str(output))
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, env=here)
    deadline = time.monotonic() + 120
    while not (folder / "likelihood.checkpoint").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(how)
    process.wait(60)
    assert not output.exists(), "the fit ended before it could be interrupted"
    assert sorted(p.name for p in folder.iterdir() if not p.name.startswith(".")) == ["likelihood.checkpoint"]
    run(folder, output)
    assert output.read_bytes() == uninterrupted


def test_a_fit_refuses_the_checkpoint_of_another(tmp_path):
    run(tmp_path / "run", tmp_path / "first.nke", steps=200)
    run(tmp_path / "run", tmp_path / "again.nke", steps=200)
    assert (tmp_path / "again.nke").read_bytes() == (tmp_path / "first.nke").read_bytes(), (
        "a finished fit is taken as it is"
    )
    for other in ({"steps": 400}, {"steps": 200, "seed": 1}):
        with pytest.raises(InputError, match="another fit"):
            run(tmp_path / "run", tmp_path / "other.nke", **other)
