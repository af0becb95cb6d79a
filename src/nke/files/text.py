"""Text tables: csv, tsv and white space. pandas reads them; whatever it stumbles over is found again and named."""

import csv
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from nke.data import Trajectories
from nke.errors import InputError
from nke.files.columns import Choice, Columns, choose
from nke.files.frame import from_table
from nke.files.table import MISSING, Table, not_a_number
from nke.progress import Progress

DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
WHITESPACE = " "  # as a delimiter: any run of spaces and tabs
BYTES_AT_A_TIME = 1 << 20
ROWS_AT_A_TIME = 1 << 15
BYTES_WITH_PROGRESS = 1 << 28  # a file of this size takes a few seconds to read
MISSING_CELLS = {"", ".", "nan", "na", "n/a", "null", "none", "#n/a", "<na>", "-nan"}


@dataclass(frozen=True)
class Layout:
    """The way a text file is cut into cells; its first ``skipped`` lines are comments and the header, if it has one."""

    path: Path
    delimiter: str
    decimal: str
    headings: Sequence[str]
    skipped: int
    header: bool

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yields line number and cells of every row; an empty line is no row, except where it is an empty cell."""
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            for line, cells in islice(_cells(file, self.delimiter), self.skipped, None):
                blank = not cells or (len(cells) == 1 and not cells[0].strip())
                if not blank or len(self.headings) == 1:
                    yield line, cells

    def line(self, row: int) -> str:
        """Says in words where a row stands."""
        found = next(islice(self.records(), row, None), None)  # none where pandas sees more rows than there are lines
        return f"row {row}" if found is None else f"line {found[0]}"

    def first_problem(self, columns: Columns) -> None:
        """Raises at the first row that has too few or too many cells, or text where a number belongs."""
        width = len(self.headings)
        numeric = columns.states
        for line, cells in self.records():
            if len(cells) != width:
                raise InputError(
                    f"{self.path}, line {line}: expected {width} columns, as in the header, but got {len(cells)}; "
                    "correct the line, with empty cells for what was not observed"
                )
            for i in numeric:
                cell = cells[i].strip()
                if cell.lower() not in MISSING_CELLS and not _is_number(cell, self.decimal):
                    name = self.headings[i]
                    advice = "; for decimal commas pass decimal=',' (--decimal ,)" if _is_number(cell, ",") else ""
                    problem = not_a_number(f"{self.path}, line {line}, column {i + 1} ({name})", cell)
                    raise InputError(f"{problem}{advice}")


def read_text(path: Path, choice: Choice) -> Trajectories:
    """Reads a text table; what is wrong with it is named by line and column."""
    try:
        layout = _layout(path, choice)
        columns = choose(layout.headings, choice, f"{path}, line {layout.skipped}")
        table = _table(layout, columns, choice.progress)
    except UnicodeDecodeError as error:
        raise InputError(_not_utf8(path)) from error
    except csv.Error as error:
        raise InputError(f"{path} could not be read: {error}; check the quotes in it") from error
    return from_table(table, choice)


def write_text(data: Trajectories, path: Path, wide: bool, delimiter: str, progress: Progress) -> None:
    """Writes a text table; progress counts its rows."""
    from nke.files.frame import to_pandas

    frame = to_pandas(data, wide)
    advance = progress("writing", len(frame))
    with path.open("w", encoding="utf-8", newline="") as file:
        for start in range(0, len(frame), ROWS_AT_A_TIME):
            rows = frame.iloc[start : start + ROWS_AT_A_TIME]
            rows.to_csv(file, header=start == 0, index=False, sep=delimiter, lineterminator="\n")
            advance(len(rows))


class FileWithProgress(io.FileIO):
    """A file that tells how many bytes have been read."""

    def __init__(self, path: Path, advance: Callable[[int], None]):
        super().__init__(path)
        self.advance = advance

    def readinto(self, buffer: Any, /) -> int:
        """Reads into the buffer and tells the number of bytes."""
        count = super().readinto(buffer) or 0
        self.advance(count)
        return count


def _layout(path: Path, choice: Choice) -> Layout:
    """Finds comments, header and delimiter in the first lines."""
    comments, first, second = _first_lines(path)
    if first is None:
        raise InputError(f"{path} has no rows; expected a header line, such as trajectory,time,x, and rows below it")
    delimiter = _delimiter(path, first, choice, len(comments) + 1)
    cells, skipped, header = _split(first, delimiter), len(comments) + 1, True
    if _all_numbers(cells, choice.decimal):  # as numpy.savetxt writes it, the header may be a comment
        told = [comment for comment in comments if comment.strip()]
        named = _split(told[-1].lstrip("# "), delimiter) if told else []
        if len(named) != len(cells):
            raise InputError(
                f"{path}, line {skipped}: expected a header with the names of the columns, but got numbers; "
                "put a line such as trajectory,time,x above them"
            )
        cells, skipped, header = named, skipped - 1, False
    elif second is None:
        raise InputError(f"{path} has a header but no rows; expected a row for each time below line {skipped}")
    return Layout(path, delimiter, choice.decimal, [cell.strip() for cell in cells], skipped, header)


def _first_lines(path: Path) -> tuple[list[str], str | None, str | None]:
    """Returns the leading lines that are empty or begin with #, and the two lines after them."""
    comments: list[str] = []
    with path.open(encoding="utf-8-sig", newline=None) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                rest = (other for other in file if other.strip())
                return comments, line.rstrip("\n"), next(rest, None)
            comments.append(line.rstrip("\n"))
    return comments, None, None


def _delimiter(path: Path, line: str, choice: Choice, number: int) -> str:
    """Takes the delimiter as told or by the ending; where neither says it, by the first line."""
    told = choice.delimiter if choice.delimiter is not None else {".csv": ",", ".tsv": "\t"}.get(path.suffix.lower())
    looks = next((d for d in ("\t", ",", ";", "|", WHITESPACE) if d in line.strip()), ",")
    if told is None:
        return looks
    told = DELIMITER_NAMES.get(told, told)
    if len(told) != 1:
        raise InputError(f"{path}: expected one character as delimiter, or tab or space, but got {told!r}")
    if len(_split(line, told)) == 1 and looks != told and len(_split(line, looks)) > 1:
        name = {"\t": "tab", " ": "space"}.get(looks, looks)
        raise InputError(
            f"{path}, line {number}: expected columns separated by {told!r}, but the line looks separated by "
            f"{looks!r}; pass delimiter={name!r} (--delimiter '{name}')"
        )
    return told


def _table(layout: Layout, columns: Columns, progress: Progress) -> Table:
    import pandas as pd

    width = len(layout.headings)
    with warnings.catch_warnings(), _source(layout.path, progress) as source:
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a first row that is too long
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # text among numbers, named below
        try:
            frame = pd.read_csv(
                source,
                sep=r"\s+" if layout.delimiter == WHITESPACE else layout.delimiter,
                decimal=layout.decimal,
                header=0 if layout.header else None,
                names=range(width),
                index_col=False,
                skiprows=layout.skipped - layout.header,
                skip_blank_lines=width > 1,
                skipinitialspace=True,
                dtype={i: np.float64 for i in columns.states},
                na_values=[MISSING],
                encoding="utf-8",
            )
        except UnicodeDecodeError:
            raise
        except (ValueError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
            layout.first_problem(columns)
            raise InputError(f"{layout.path} could not be read: {error}") from error
    cells = [frame[i].to_numpy() for i in range(width)]
    if pd.isna(cells[-1]).any() and _has_short_rows(layout, len(frame)):
        layout.first_problem(columns)
    return Table(str(layout.path), layout.headings, cells, layout.line)


def _source(path: Path, progress: Progress) -> AbstractContextManager[Any]:
    """Gives the path, which pandas reads twice as fast as an open file; if long, a file that shows progress."""
    size = path.stat().st_size
    if size < BYTES_WITH_PROGRESS:
        return nullcontext(path)
    return io.BufferedReader(FileWithProgress(path, progress("reading", size)), BYTES_AT_A_TIME)


def _has_short_rows(layout: Layout, rows: int) -> bool:
    """Tells whether some rows lack cells, which pandas fills up.

    The last cell of such a row is empty, and the file has too few delimiters.
    """
    width, found = len(layout.headings), 0
    if width == 1 or layout.delimiter == WHITESPACE:
        return width > 1
    with layout.path.open("rb") as file:  # a comparison of arrays is several times faster than bytes.count
        while block := file.read(BYTES_AT_A_TIME):
            found += np.count_nonzero(np.frombuffer(block, np.uint8) == ord(layout.delimiter))
    return bool(found < (rows + layout.header) * (width - 1))


def _cells(file, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    if delimiter == WHITESPACE:
        for number, line in enumerate(file, start=1):
            yield number, line.split()
        return
    reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
    for cells in reader:
        yield reader.line_num, cells


def _split(line: str, delimiter: str) -> list[str]:
    return next(_cells([line], delimiter), (1, []))[1]


def _all_numbers(cells: list[str], decimal: str) -> bool:
    return all(_is_number(cell.strip(), decimal) for cell in cells)


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(decimal, ".") if decimal != "." else cell)
    except ValueError:
        return False
    return True


def _not_utf8(path: Path) -> str:
    line = 0
    with path.open("rb") as file:
        for line, content in enumerate(file, start=1):  # noqa: B007 - the line where it stops
            try:
                content.decode()
            except UnicodeDecodeError:
                break
    return f"{path}, line {line}: expected UTF-8 text, but got other bytes; save the file as UTF-8, or get a fresh copy"
