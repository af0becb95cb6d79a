"""Writes the table of selection rules into docs/decisions.md, from the class that holds them."""

from pathlib import Path

from nke.fitting import SelectionRules

BEGIN, END = "<!-- rules: written by make rules -->", "<!-- end of rules -->"


def with_table(page: str) -> str:
    """Replaces the table between the two marks of the page."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{SelectionRules.table()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    path = Path(__file__).with_name("decisions.md")
    path.write_text(with_table(path.read_text()))
