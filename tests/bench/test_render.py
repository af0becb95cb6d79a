"""Tables as LaTeX."""

import pytest

from bench_cells import record
from nke.bench import render
from nke.bench.protocol import cases
from nke.bench.summary import tables


@pytest.mark.parametrize("name", sorted(cases()))
def test_every_sign_of_a_table_is_written_for_latex(name):
    """pdflatex stops at a letter like Δ; a number and its ratio are apart."""
    case = cases()[name]
    measured = record("likelihood", 0, 1.0) | {"system": name}
    measured["metrics"] |= dict.fromkeys(case.statistics, 1.0)
    floor = record("oracle", 0, 1.0) | {"system": name}
    made = tables(case, {(name, "likelihood", 0): measured, (name, "oracle", 0): floor})
    assert bool(case.statistics) == any(table.name == "statistics" and table.rows for table in made)
    words = render.latex(made)
    assert words.isascii()
    assert r"$1.00\ (1.00)$" in words
    assert words.count(r"\begin{adjustbox}") == words.count(r"\end{adjustbox}") == words.count(r"\end{tabular}") > 0
