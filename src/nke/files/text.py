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
from nke.files.table import Table, not_a_number

DELIMITERS = {".csv": ",", ".tsv": "\t"}
WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
SPACES = " "  # any run of spaces and tabs
BLOCK = 1 << 20  # bytes
WRITTEN = 1 << 15  # rows at a time
LONG = 1 << 28  # bytes that take a few seconds to read
MISSING = {"", "nan", "na", "n/a", "null", "none", "#n/a", "<na>", "-nan"}


@dataclass(frozen=True)
class Layout:
    """How a text file is cut into cells; its first ``skipped`` lines are comments and the header, if it has one."""

    path: Path
    delimiter: str
    decimal: str
    headings: Sequence[str]
    skipped: int
    header: bool

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every row; an empty line is no row, except where it is an empty cell."""
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            for line, cells in islice(_cells(file, self.delimiter), self.skipped, None):
                blank = not cells or (len(cells) == 1 and not cells[0].strip())
                if not blank or len(self.headings) == 1:
                    yield line, cells

    def line(self, row: int) -> str:
        return f"line {next(islice(self.records(), row, None))[0]}"

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
                if cell.lower() not in MISSING and not _is_number(cell, self.decimal):
                    name = self.headings[i]
                    advice = "; for decimal commas pass decimal=',' (--decimal ,)" if _is_number(cell, ",") else ""
                    problem = not_a_number(f"{self.path}, line {line}, column {i + 1} ({name})", cell)
                    raise InputError(f"{problem}{advice}")


def read_text(path: Path, choice: Choice) -> Trajectories:
    try:
        layout = _layout(path, choice)
        columns = choose(layout.headings, choice, f"{path}, line {layout.skipped}")
        return from_table(_table(layout, columns, choice.report), choice)
    except UnicodeDecodeError as error:
        raise InputError(_not_utf8(path)) from error


def write_text(data: Trajectories, path: Path, wide: bool, delimiter: str, report: Callable[[int], None]) -> None:
    from nke.files.frame import to_pandas

    frame = to_pandas(data, wide)
    with path.open("w", encoding="utf-8", newline="") as file:
        for start in range(0, len(frame), WRITTEN):
            rows = frame.iloc[start : start + WRITTEN]
            rows.to_csv(file, header=start == 0, index=False, sep=delimiter, lineterminator="\n")
            report(len(rows))


class Reported(io.FileIO):
    """A file that tells how many bytes have been read."""

    def __init__(self, path: Path, report: Callable[[int], None]):
        super().__init__(path)
        self.report = report

    def readinto(self, buffer: Any, /) -> int:
        count = super().readinto(buffer) or 0
        self.report(count)
        return count


def _layout(path: Path, choice: Choice) -> Layout:
    """Comments, header and delimiter, from the first lines."""
    comments, first, second = _first_lines(path)
    if first is None:
        raise InputError(f"{path} has no rows; expected a header line, such as trajectory,time,x, and rows below it")
    delimiter = _delimiter(path, first, choice)
    cells, skipped, header = _split(first, delimiter), len(comments) + 1, True
    if _all_numbers(cells, choice.decimal):  # as numpy.savetxt writes it, the header may be a comment
        named = _split(comments[-1].lstrip("# "), delimiter) if comments else []
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
    """Leading lines that begin with #, and the two lines after them."""
    comments: list[str] = []
    with path.open(encoding="utf-8-sig", newline=None) as file:
        for line in file:
            if not line.startswith("#"):
                rest = (other for other in file if other.strip())
                return comments, line.rstrip("\n"), next(rest, None)
            comments.append(line.rstrip("\n"))
    return comments, None, None


def _delimiter(path: Path, line: str, choice: Choice) -> str:
    """As told or by the ending; where neither says it, by the first line."""
    told = choice.delimiter if choice.delimiter is not None else DELIMITERS.get(path.suffix.lower())
    looks = next((d for d in ("\t", ",", ";", "|", SPACES) if d in line.strip()), ",")
    if told is None:
        return looks
    told = WORDS.get(told, told)
    if len(told) != 1:
        raise InputError(f"expected one character as delimiter, or tab or space, but got {told!r}")
    if len(_split(line, told)) == 1 and looks != told and len(_split(line, looks)) > 1:
        name = {"\t": "tab", " ": "space"}.get(looks, looks)
        raise InputError(
            f"{path}, line 1: expected columns separated by {told!r}, but the line looks separated by {looks!r}; "
            f"pass delimiter={name!r} (--delimiter '{name}')"
        )
    return told


def _table(layout: Layout, columns: Columns, report: Callable[[int], None]) -> Table:
    import pandas as pd

    width = len(layout.headings)
    with warnings.catch_warnings(), _source(layout.path, report) as source:
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a first row that is too long
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # text among numbers, named below
        try:
            frame = pd.read_csv(
                source,
                sep=r"\s+" if layout.delimiter == SPACES else layout.delimiter,
                decimal=layout.decimal,
                header=0 if layout.header else None,
                names=range(width),
                index_col=False,
                skiprows=layout.skipped - layout.header,
                skip_blank_lines=width > 1,
                skipinitialspace=True,
                dtype={i: np.float64 for i in columns.states},
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


def _source(path: Path, report: Callable[[int], None]) -> AbstractContextManager[Any]:
    """The path, which pandas reads twice as fast as an open file; if long, a file that tells how far it is read."""
    if path.stat().st_size < LONG:
        return nullcontext(path)
    return io.BufferedReader(Reported(path, report), BLOCK)


def _has_short_rows(layout: Layout, rows: int) -> bool:
    """pandas fills up a row that lacks cells: the last is empty, and the file has too few delimiters."""
    width, found = len(layout.headings), 0
    if width == 1 or layout.delimiter == SPACES:
        return width > 1
    with layout.path.open("rb") as file:  # a comparison of arrays is several times faster than bytes.count
        while block := file.read(BLOCK):
            found += np.count_nonzero(np.frombuffer(block, np.uint8) == ord(layout.delimiter))
    return bool(found < (rows + layout.header) * (width - 1))


def _cells(file, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    if delimiter == SPACES:
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
