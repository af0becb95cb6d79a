"""The page: one template, filled with words, tables and charts, that opens offline."""

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nke.reporting import equation, words
from nke.reporting.charts import every_chart
from nke.reporting.contents import Contents

PLOTLY = "plotly-cartesian.min.js"


def page(contents: Contents, command: str = "") -> str:
    """Fills the template.

    Args:
        contents: Of the report.
        command: That made it.

    Returns:
        HTML.
    """
    charts = every_chart(contents)
    return (
        environment()
        .get_template("page.html")
        .render(
            **_text(contents, command),
            equations=[] if contents.result is None else equation.typeset(contents.result),
            general=equation.general(contents.model),
            charts=charts,
            drawn={name: chart.to_dict() for name, chart in charts.items()},
            plotly=Markup(script(PLOTLY)),
        )
    )


def _text(contents: Contents, command: str) -> dict[str, Any]:
    """The words and tables of the page.

    Args:
        contents: Of the report.
        command: That made it.

    Returns:
        By the names that the template uses.
    """
    result = contents.result
    return {
        "title": words.heading(contents.model),
        "verdict": words.verdict(contents),
        "checks": words.checks(contents),
        "law": words.law_words(contents),
        "law_table": words.law_table(contents),
        "coefficients": equation.coefficient_rows(None if result is None else result.equation),
        "latex": "" if result is None or result.equation is None else result.equation.latex(),
        "coordinates": words.coordinate_table(contents),
        "scores": words.score_table(contents),
        "paths": words.path_table(contents),
        "coverage": words.coverage_table(contents),
        "decisions": words.decisions(contents),
        "configuration": words.configuration(contents, command),
        "configuration_json": words.configuration_json(contents),
        "notes": contents.notes,
        "data": words.data_in_words(contents.data),
    }


@cache
def environment() -> Environment:
    """Templates in which all text is escaped unless it says otherwise."""
    found = Environment(
        loader=PackageLoader("nke.reporting"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    found.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}
    return found


@cache
def script(name: str) -> str:
    """A script of the package; it must not end the element that it stands in."""
    found = (files("nke.reporting") / "templates" / name).read_text("utf-8")
    assert "</script" not in found.lower(), name
    return found
