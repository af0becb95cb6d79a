"""What a file claims to hold is compared with its size before memory is taken for it."""

from pathlib import Path

from nke.errors import DamagedFileError

ALWAYS = 1 << 26  # bytes that any file may claim
MOST_PACKED = 1100  # times smaller than its content is a file at most: deflate packs 1032 to 1


def require_plausible(path: Path, claimed: int, what: str) -> None:
    """Refuses a file that claims more than a file of its size can hold, however well it is packed.

    Args:
        path: The file, or the folder of a store.
        claimed: Bytes that its header tells of.
        what: What they are for, for the message.

    Raises:
        DamagedFileError: If they are too many.
    """
    if claimed > ALWAYS and claimed > MOST_PACKED * (stored := size_of(path)):
        raise DamagedFileError(
            f"{path} is damaged: it claims {claimed:.3g} bytes for {what}, but has {stored} bytes in all; get a fresh "
            "copy"
        )


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(part.lstat().st_size for part in path.rglob("*"))
