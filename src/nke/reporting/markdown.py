"""A report as Markdown: the words and tables of the page, with a figure where the page has a chart."""

import re
from collections.abc import Sequence
from itertools import chain

from nke.reporting import words
from nke.reporting.contents import Contents
from nke.reporting.words import Table

SPECIAL = re.compile(r"([\\`*_\[\]|$~#])")
FIGURES = {  # by section: names and what stands beside them
    "Paths": {"paths": "Recorded and simulated paths", "densities": "Recorded and simulated states"},
    "Drift and noise": {
        "drift": "Drift",
        "diffusion": "Diffusion",
        "motions": "Motions in bins of states: of the data, and expected by the law",
    },
    "Jumps": {"jump-rate": "Jump rate", "jump-law": "Law of one jump"},
    "Forecast": {"forecast": "Forecast, and what was recorded"},
    "Long run": {"stationary": "Density over all times", "autocorrelation": "Autocorrelation"},
    "Calibration": {"calibration": "Calibration", "increments": "Motions from one record to the next"},
    "Training": {"history": "History of the fit"},
}


def markdown(contents: Contents, command: str, figures: Sequence[str]) -> str:
    """Writes the report.

    Args:
        contents: Of the report.
        command: That made it.
        figures: Names of the figures that there are.

    Returns:
        Markdown with the text of the user escaped.
    """
    parts = chain(
        _verdict(contents), _law(contents), _pictures(figures), _scores(contents), _decisions(contents),
        ["## To make it again", _table(words.configuration(contents, command))],
    )  # fmt: skip
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    r"""Text in which no character of Markdown or HTML has a meaning, on one line.

    Args:
        text: Any.

    Returns:
        The escaped text.

    Example:
        >>> from nke.reporting.markdown import escaped
        >>> print(escaped("a_1 <b> | x"))
        a\_1 &lt;b&gt; \| x
    """
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(SPECIAL.sub(r"\\\1", plain).split())


def _verdict(contents: Contents) -> list[str]:
    found = words.verdict(contents)
    problems = [f"- **{escaped(meaning)}** {escaped(advice)}".rstrip() for meaning, advice in found.problems]
    before = [f"In the data that it was fitted to, the diagnosis was: {escaped(found.before)}."] if found.before else []
    lists = ["\n".join(problems)] if problems else []
    title, data = escaped(words.heading(contents.model)), escaped(words.data_in_words(contents.data))
    notes = [escaped(note) for note in contents.notes]
    return [f"# {title}", data, f"## {escaped(found.words)}", *lists, *before, *notes, _table(words.checks(contents))]


def _law(contents: Contents) -> list[str]:
    topics = [f"- {topic}: {'; '.join(map(escaped, lines))}" for topic, lines in words.law_words(contents)]
    equation = None if contents.result is None else contents.result.equation
    latex = [] if equation is None else [_block(equation.latex(), "latex")]
    table = _block(words.law_table(contents), "text")
    return ["## The law", "\n".join(topics), *latex, table, _table(words.coordinate_table(contents))]


def _block(text: str, kind: str) -> str:
    """A block of code, whose fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{kind}\n{text}\n{fence}"


def _pictures(figures: Sequence[str]) -> list[str]:
    parts = []
    for section, names in FIGURES.items():
        shown = [f"![{about}]({name}.png)" for name, about in names.items() if name in figures]
        parts += [f"## {section}", *shown] if shown else []
    return parts


def _scores(contents: Contents) -> list[str]:
    coverage, paths = words.coverage_table(contents), words.path_table(contents)
    parts = ["## Scores", _table(words.score_table(contents))]
    if coverage is not None:
        parts += ["Share of the recorded motions that lie within the law's central intervals:", _table(coverage)]
    if paths is not None:
        unit = "in units of the standard deviations of the data that the law was fitted to"
        parts += [f"Distances between simulated and recorded paths, {unit}:", _table(paths)]
    return parts


def _decisions(contents: Contents) -> list[str]:
    lines = []
    for each in words.decisions(contents):
        lines.append(f"- {escaped(each.question)} **{escaped(each.answer)}**")
        lines += [f"  - {escaped(line)}" for line in [*each.evidence, *([f"Rule: {each.rule}"] if each.rule else [])]]
    return ["## What was decided, and why", "\n".join(lines)] if lines else []


def _table(found: Table) -> str:
    rows = [found.headings, tuple("---" for _ in found.headings), *found.rows]
    cells = [[cell if n == 1 else escaped(cell) for cell in row] for n, row in enumerate(rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
