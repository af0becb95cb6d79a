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
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as pack_tensors

from nke.errors import DamagedFileError, InputError
from nke.files.atomic import write_atomically


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
        """
        self.folder, self.fingerprint = Path(folder), fingerprint
        self.folder.mkdir(parents=True, exist_ok=True)

    def save(self, stage: str, tree: PyTree, progress: dict[str, Any]) -> None:
        """Writes the state of a training.

        Args:
            stage: Name of the training.
            tree: Arrays.
            progress: Plain values.
        """
        leaves = {str(i): np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}
        header = {"fingerprint": self.fingerprint, "version": version("nke"), "progress": json.dumps(progress)}
        write_atomically(self._path(stage), pack_tensors(leaves, metadata=header))

    def load(self, stage: str, template: PyTree) -> tuple[PyTree, dict[str, Any]] | None:
        """Reads the state of a training.

        Args:
            stage: Name of the training.
            template: Arrays of the same structure.

        Returns:
            The arrays in that structure and the plain values; None when there are none yet.

        Raises:
            DamagedFileError: If the file cannot be read.
            InputError: If it is of another fit or of another version of nke.
        """
        path = self._path(stage)
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="np") as file:
                header = file.metadata() or {}
                leaves = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        except SafetensorError as error:
            raise DamagedFileError(f"{path} is damaged ({error}); remove it to start this stage afresh") from error
        if header.get("fingerprint") != self.fingerprint:
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
        saved, structure = [leaves[str(i)] for i in range(len(leaves))], jax.tree.structure(template)
        return jax.tree.unflatten(structure, map(jnp.asarray, saved)), json.loads(header["progress"])

    def _path(self, stage: str) -> Path:
        """Names hold only characters that every file system takes."""
        return self.folder / f"{re.sub(r'[^A-Za-z0-9.]+', '-', stage)}.checkpoint"


def fingerprint(*parts: Any) -> str:
    """Computes a digest of arrays and of the text of everything else."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return hasher.hexdigest()
