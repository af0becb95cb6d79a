"""Tables as Markdown, LaTeX and CSV."""

import csv
import io
import math
from collections.abc import Sequence

from nke.bench.summary import Cell, Table


def markdown(tables: Sequence[Table]) -> str:
    """Writes tables as Markdown, the best figures in bold."""
    return "\n\n".join(_markdown(table) for table in tables if table.rows) + "\n"


def _markdown(table: Table) -> str:
    lines = [f"### {table.title}", "", f"| Method | {' | '.join(table.headings)} |"]
    lines.append("| --- |" + " ---: |" * len(table.headings))
    for method, row in table.rows.items():
        cells = [f"**{text(cell)}**" if cell.best else text(cell) for cell in row]
        lines.append(f"| {table.label(method)} | {' | '.join(cells)} |")
    return "\n".join([*lines, *(f"\n{note}" for note in table.notes)])


def text(cell: Cell) -> str:
    """Writes a cell: "0.0062 ± 0.0021 (1.12 ± 0.08)"."""
    if cell.mean is None:
        return cell.text
    words = _with_error(cell.mean, cell.spread)
    if cell.ratio is not None:
        words += f" ({_with_error(cell.ratio, cell.ratio_error)}{'‡' if cell.suspicious else ''})"
    return words


def _with_error(value: float, error: float | None) -> str:
    """Two significant figures of the error decide the decimals; without one, three figures of the value."""
    scale, figures = (error, 2) if error else (value, 3)
    if not math.isfinite(value) or not math.isfinite(scale or 0.0):
        return f"{value:.3g}"
    decimals = figures - 1 - math.floor(math.log10(abs(scale))) if scale else figures
    if abs(value) >= 1e5 or decimals > 8:
        return f"{value:.3g}" + (f" ± {error:.2g}" if error is not None else "")
    decimals = max(0, decimals)
    return f"{value:.{decimals}f}" + (f" ± {error:.{decimals}f}" if error is not None else "")


def latex(tables: Sequence[Table]) -> str:
    """Writes tables as LaTeX; the first line says which packages they need."""
    head = "% needs booktabs and adjustbox; best in bold, in brackets the ratio to the floor with its standard error\n"
    return head + "\n".join(_latex(table) for table in tables if table.rows)


def _latex(table: Table) -> str:
    lines = [r"\begin{table}[h!]", r"\centering", r"\small", rf"\caption{{{_escaped(table.title)}.}}"]
    lines += [rf"\label{{tab:{table.system}-{table.name}}}", r"\begin{adjustbox}{max width=\linewidth}"]
    lines += [rf"\begin{{tabular}}{{l{'c' * len(table.headings)}}}"]
    lines += [r"\toprule", " & ".join(["Method", *map(_escaped, table.headings)]) + r" \\", r"\midrule"]
    for method, row in table.rows.items():
        lines.append(" & ".join([_escaped(table.label(method)), *map(_latex_cell, row)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}"]
    lines += [*(rf"\\ {_escaped(note)}" for note in table.notes), r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_cell(cell: Cell) -> str:
    if cell.mean is None:
        return cell.text
    words = text(cell).replace("±", r"\pm").replace("‡", r"^\ddagger").replace(" (", r"\ (")
    return rf"$\mathbf{{{words}}}$" if cell.best else f"${words}$"


def _escaped(words: str) -> str:
    signs = {
        "–": "--",
        "%": r"\%",
        "_": r"\_",
        "↓": r"$\downarrow$",
        "↑": r"$\uparrow$",
        "±": r"$\pm$",
        "‡": r"$^\ddagger$",
    }
    signs |= {"λ": r"$\lambda$", "γ": r"$\gamma$", "Δ": r"$\Delta$", "÷": r"$\div$"}
    return "".join(signs.get(sign, sign) for sign in words)


def comma_separated(tables: Sequence[Table]) -> str:
    """Writes one line for each cell, with every digit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    fields = ["mean", "spread", "ratio", "ratio_error", "seeds", "best", "suspicious", "text"]
    writer.writerow(["table", "system", "method", "column", *fields])
    for table in tables:
        for method, row in table.rows.items():
            for heading, cell in zip(table.headings, row, strict=True):
                writer.writerow([table.name, table.system, method, heading, *(getattr(cell, name) for name in fields)])
    return out.getvalue()
