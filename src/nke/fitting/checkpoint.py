"""Checkpoints of a running minimisation: one file a stage, written atomically, resumed bit for bit."""

import hashlib
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as pack_tensors

from nke.errors import InputError
from nke.files.atomic import write_atomically


class Checkpoint:
    """A folder that holds the state of a fit.

    ``fingerprint`` identifies the fit (data, method, seed): a folder of another fit is refused, since
    resuming from it would silently give a mixture of the two.
    """

    def __init__(self, folder: str | Path, fingerprint: str):
        self.folder, self.fingerprint = Path(folder), fingerprint
        self.folder.mkdir(parents=True, exist_ok=True)

    def save(self, stage: str, tree: PyTree, progress: dict[str, Any]) -> None:
        leaves = {str(i): np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}
        header = {"fingerprint": self.fingerprint, "progress": json.dumps(progress)}
        write_atomically(self._path(stage), pack_tensors(leaves, metadata=header))

    def load(self, stage: str, template: PyTree) -> tuple[PyTree, dict[str, Any]] | None:
        """The saved state in the structure of ``template``; None when there is none yet."""
        path = self._path(stage)
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="np") as file:
                header = file.metadata() or {}
                leaves = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        except SafetensorError as error:
            raise InputError(f"{path} is damaged ({error}); remove it to start this stage afresh") from error
        if header.get("fingerprint") != self.fingerprint:
            raise InputError(
                f"{path} is a checkpoint of another fit (other data, method, seed or version); "
                "choose another folder or remove it"
            )
        saved, structure = [leaves[str(i)] for i in range(len(leaves))], jax.tree.structure(template)
        return jax.tree.unflatten(structure, map(jnp.asarray, saved)), json.loads(header["progress"])

    def _path(self, stage: str) -> Path:
        return self.folder / f"{stage}.checkpoint"


def fingerprint(*parts: Any) -> str:
    """A digest of arrays and of the text of everything else."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return hasher.hexdigest()
