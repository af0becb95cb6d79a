"""``nke.report``: a page about a law."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nke.errors import InputError
from nke.files.atomic import write_atomically
from nke.progress import ProgressOption, progress_bar
from nke.reporting import words
from nke.reporting.contents import Contents
from nke.reporting.page import page


@dataclass(frozen=True, eq=False)
class Report:
    """A law, whether to believe it, and what it says beside the data.

    Attributes:
        contents: Everything that it shows, as numbers.
        command: The command that made it; empty where there was none.

    Example:
        >>> import tempfile
        >>> report = nke.report(result, data)
        >>> report.verdict
        'Nothing speaks against this law'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report.save(f"{folder}/report.html")
    """

    contents: Contents = field(repr=False)
    command: str = ""

    @property
    def verdict(self) -> str:
        """The outcome of the diagnosis in a few words."""
        return words.verdict(self.contents).words

    def html(self) -> str:
        """Gives the page, which needs nothing else and makes no request.

        Returns:
            HTML with its styles, its script and Plotly.
        """
        return page(self.contents, self.command)

    def save(self, path: str | Path) -> None:
        """Writes the page to one file, which appears whole or not at all.

        Args:
            path: Of the file; its name ends in .html.

        Raises:
            InputError: If the name has another ending.
            OSError: If the file cannot be written.
        """
        require_html(Path(path))
        write_atomically(Path(path), self.html().encode())

    def save_static(self, folder: str | Path) -> list[Path]:
        """Writes the same as Markdown, with figures as PNG and PDF, for a paper or a repository.

        Args:
            folder: To write to; it is made if it is not there.

        Returns:
            The files, report.md first.

        Raises:
            MissingPackageError: If Matplotlib is not installed.
            OSError: If a file cannot be written.
        """
        from nke.reporting.static import save_static

        return save_static(self.contents, self.command, Path(folder))


def report(
    law: Any,
    data: Any,
    *,
    beside: Mapping[str, Any] | None = None,
    seed: int = 0,
    command: str = "",
    progress: ProgressOption = False,
) -> Report:
    """Makes a report of a law beside data: the law, what speaks against it, simulations, forecasts and scores.

    Args:
        law: A model, or the result of a fit, which also tells how the law was found and how sure it is.
        data: Recorded trajectories, or a frame or path of them; those that it was fitted to, or others.
        beside: Other models of the same coordinates, such as baselines, to be scored beside it, by name.
        seed: Of everything that is simulated.
        command: The command that made it, for the part about how to make it again.
        progress: Whether to show a bar; None: on a terminal; or a callback (see ``nke.progress``).

    Returns:
        The report, to be saved.

    Raises:
        InputError: If the data has another number of coordinates than a model.
        InputTypeError: If the law is no model.

    Example:
        >>> nke.report(model, data).contents.scores[0].name
        'this law'
    """
    with progress_bar(progress) as begin:
        return Report(Contents.of(law, data, beside or {}, seed, begin), command)


def require_html(path: Path) -> None:
    """Refuses a name that browsers would not open as a page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"expected a name that ends in .html for the report, but got {path.name!r}")
