"""Named arrays and texts in one file, of which every byte is guarded: safetensors, in one order, with a digest.

What a file says is compared with its own size before any memory is taken. The same content makes the same bytes, and a
file with a digest is accepted only if it is, byte for byte, what its content makes.
"""

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nke.errors import DamagedFileError

KINDS = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4", "U8": "|u1", "BOOL": "|b1"}
WORDS = {np.dtype(kind): word for word, kind in KINDS.items()}
TEXTS = "__metadata__"  # the name that safetensors gives them
NO_DIGEST = "0" * 64  # stands in its place while it is computed
MOST_AXES = 8


def pack(texts: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Makes the content of a file.

    Args:
        texts: By name; "digest" is added.
        arrays: By name.

    Returns:
        The bytes, the same for the same content in whatever order it is given.

    Example:
        >>> from nke.files.sealed import Sealed, pack
        >>> content = pack({"format": "example"}, {"x": np.arange(3.0)})
        >>> sealed = Sealed(content, "example")
        >>> sealed.texts["format"], sealed.arrays()["x"].tolist()
        ('example', [0.0, 1.0, 2.0])
    """
    opened = _pack({**texts, "digest": NO_DIGEST}, arrays)
    return _pack({**texts, "digest": hashlib.sha256(opened).hexdigest()}, arrays)


def _pack(texts: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a file whose digest is known."""
    widest_first = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {TEXTS: dict(sorted(texts.items()))}
    parts, end = [], 0
    for name in widest_first:
        array = np.asarray(arrays[name])
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": WORDS[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
        parts.append(array.tobytes())
    words = json.dumps(header, separators=(",", ":")).encode()
    words += b" " * (-len(words) % 8)
    return b"".join([struct.pack("<Q", len(words)), words, *parts])


class Sealed:
    """The content of a file, of which nothing is believed before it was compared with the file's size.

    Args:
        payload: Its bytes.
        name: What errors call it.
        kind: What it should be, for errors.
        advice: What to do where it is damaged.

    Attributes:
        texts: By name.

    Raises:
        DamagedFileError: If it is not in the format of safetensors.
    """

    def __init__(
        self,
        payload: bytes,
        name: str | Path,
        kind: str = "a file of nke",
        advice: str = "get a fresh copy of the file",
    ):
        self._payload, self._name, self._kind, self._advice = payload, name, kind, advice
        if len(payload) < 8 or (length := struct.unpack("<Q", payload[:8])[0]) > len(payload) - 8:
            raise self._damaged("its header is longer than the file")
        self._start = 8 + length
        try:
            header = json.loads(payload[8 : self._start])
        except (ValueError, RecursionError) as error:
            raise self._damaged(f"its header is not valid: {str(error)[:80]}") from error
        if not isinstance(header, dict):
            raise self._damaged("its header is no JSON object")
        texts = header.pop(TEXTS, {})
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            raise self._damaged("its header has entries that are no text")
        self.texts: dict[str, str] = texts
        self._arrays = header

    def arrays(self) -> dict[str, np.ndarray]:
        """Gives the arrays by name, read-only.

        Returns:
            Views of the content.

        Raises:
            DamagedFileError: If they do not fill the file one after the other.
        """
        found, end = {}, self._start
        for name, entry in self._arrays.items():
            found[name], end = self._array(name, entry, end)
        if end != len(self._payload):
            raise self._damaged("it is longer than its arrays")
        return found

    def require_digest(self) -> None:
        """Refuses content that was changed after it was written.

        Raises:
            DamagedFileError: If a byte is not what it was.
        """
        digest = self.texts.get("digest", "")
        opened = _pack({**self.texts, "digest": NO_DIGEST}, self.arrays())
        same = hashlib.sha256(opened).hexdigest() == digest
        if not same or _pack(self.texts, self.arrays()) != self._payload:
            raise DamagedFileError(f"{self._name} is damaged: its content does not match its digest; {self._advice}")

    def _array(self, name: str, entry: Any, begin: int) -> tuple[np.ndarray, int]:
        """The array that begins at a byte, and where it ends."""
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise self._damaged(f"its entry of {name[:80]!r} is not valid")
        kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(kind, str) or kind not in KINDS:
            raise self._damaged(f"{name[:80]!r} has numbers of the unknown kind {str(kind)[:20]!r}")
        if not _are_sizes(shape) or not _are_sizes(offsets) or len(shape) > MOST_AXES:
            raise self._damaged(f"its entry of {name[:80]!r} is not valid")
        dtype = np.dtype(KINDS[kind])
        end = begin + math.prod(shape) * dtype.itemsize
        if [begin - self._start, end - self._start] != offsets or end > len(self._payload):
            raise self._damaged(f"the numbers of {name[:80]!r} are not where they should be")
        numbers = np.frombuffer(self._payload, dtype, math.prod(shape), begin if begin < end else 0)
        try:
            return numbers.reshape(shape), end
        except (ValueError, OverflowError) as error:  # no numbers, but axes longer than any
            raise self._damaged(f"its entry of {name[:80]!r} is not valid") from error

    def _damaged(self, why: str) -> DamagedFileError:
        return DamagedFileError(
            f"{self._name} is not {self._kind}, or it is cut short or damaged ({why}); {self._advice}"
        )


def _are_sizes(values: Any) -> bool:
    """Whether values from a file are a list of whole numbers of at least zero."""
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)
