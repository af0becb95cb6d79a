"""Checkpoints of a running fit: one file for each training, written atomically, resumed bit for bit."""

import hashlib
import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from nke.errors import DamagedFileError, InputError
from nke.files.atomic import require_writable, write_atomically
from nke.files.regular import read_bytes
from nke.files.sealed import Sealed, pack

AFRESH = "remove it to start this stage afresh"


class Checkpoint:
    """A folder that holds the state of a fit.

    A folder of another fit is refused, since resuming from it would silently give a mixture of the two; so is one of
    another version of nke, whose steps may differ.
    """

    def __init__(self, folder: str | Path, fingerprint: str):
        """Opens the folder, which is created if it is not there.

        Args:
            folder: Its path.
            fingerprint: Identifies the fit: data, method, seed.

        Raises:
            OSError: If nothing can be written to it.
        """
        self.folder, self.fingerprint = Path(folder), fingerprint
        self.folder.mkdir(parents=True, exist_ok=True)
        require_writable(self.folder / "any.checkpoint")

    def save(self, stage: str, tree: PyTree, progress: dict[str, Any]) -> None:
        """Writes the state of a training.

        Args:
            stage: Name of the training.
            tree: Arrays.
            progress: Plain values.
        """
        leaves = {str(i): np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}
        header = {"fingerprint": self.fingerprint, "version": version("nke"), "stage": stage}
        write_atomically(self._path(stage), pack(header | {"progress": json.dumps(progress)}, leaves))

    def load(self, stage: str, template: PyTree) -> tuple[PyTree, dict[str, Any]] | None:
        """Reads the state of a training.

        Args:
            stage: Name of the training.
            template: Arrays of the same structure.

        Returns:
            The arrays in that structure and the plain values; None when there are none yet.

        Raises:
            DamagedFileError: If the file is cut short or a bit of it was changed.
            InputError: If it is of another fit or of another version of nke.
            OSError: If it cannot be read.
        """
        path = self._path(stage)
        if not path.exists():
            return None
        file = Sealed(read_bytes(path), path, "a checkpoint of nke", AFRESH)
        header = file.texts
        if "version" in header and "digest" not in header:
            raise InputError(f"{path} is a checkpoint of an earlier version of nke; {AFRESH}")
        file.require_digest()
        if (header.get("fingerprint"), header.get("stage")) != (self.fingerprint, stage):
            raise InputError(
                f"{path} is a checkpoint of another fit (other data, method or seed); "
                "choose another folder or remove it"
            )
        if header.get("version") != version("nke"):
            raise InputError(
                f"{path} is a checkpoint of nke {header.get('version', '(an earlier version)')}, but this is nke "
                f"{version('nke')}, whose steps may differ; finish the fit with that version, or remove the folder "
                "to start afresh"
            )
        leaves, structure = jax.tree.flatten(template)
        arrays = file.arrays()
        saved = [arrays.get(str(i)) for i in range(len(arrays))]
        shapes = [(leaf.shape, leaf.dtype) for leaf in map(np.asarray, leaves)]
        if [None if array is None else (array.shape, array.dtype) for array in saved] != shapes:
            raise DamagedFileError(f"{path} is damaged: its arrays are not those of this stage; {AFRESH}")
        try:
            progress = json.loads(header["progress"])
        except (KeyError, ValueError, RecursionError) as error:
            raise DamagedFileError(
                f"{path} is damaged: it does not tell how far the stage has come; {AFRESH}"
            ) from error
        if not isinstance(progress, dict):
            raise DamagedFileError(f"{path} is damaged: it does not tell how far the stage has come; {AFRESH}")
        return jax.tree.unflatten(structure, map(jnp.asarray, saved)), progress

    def _path(self, stage: str) -> Path:
        """Names hold only characters that every file system takes."""
        return self.folder / f"{re.sub(r'[^A-Za-z0-9.]+', '-', stage)}.checkpoint"


def fingerprint(*parts: Any) -> str:
    """Computes a digest of arrays and of the text of everything else."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return hasher.hexdigest()
