"""A report as a whole: what is in it, and that it stands alone."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import nke
from drawn_models import linear, recorded
from hostile_names import HOSTILE


class Elements(HTMLParser):
    """Elements with their attributes, and the text outside of scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.found, self.words, self.scripts, self._inside = [], [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.words.append(data)


@pytest.fixture(scope="module")
def pages(dated_report, hostile_report):
    return {"dated_report": Elements(dated_report.html()), "hostile_report": Elements(hostile_report.html())}


def text(page):
    return " ".join(" ".join(page.words).split())


@pytest.mark.parametrize("name", ["dated_report", "hostile_report"])
def test_nothing_is_loaded_from_elsewhere(pages, name, request):
    for tag, attributes in pages[name].found:
        assert tag not in ("img", "iframe", "object", "embed", "base"), tag
        assert "src" not in attributes
        if tag in ("a", "link"):
            assert attributes["href"].startswith(("#", "data:"))
    assert len(request.getfixturevalue(name).html()) < 3e6


def test_the_verdict_stands_on_top(dated_report, pages):
    assert dated_report.verdict == "Nothing speaks against this law"
    words = text(pages["dated_report"])
    assert words.index(dated_report.verdict) < words.index("The law", words.index("Make it again"))


def test_the_law_is_told_with_its_errors(dated_report, pages):
    """dx = −x dt + …, fitted: the coefficient and its standard error, in words and as an equation."""
    [term] = dated_report.contents.result.equation.drift["x"]
    words = text(pages["dated_report"])
    assert f"{term.coefficient:+.4g} ({term.error:.1g}) x" in words
    assert "Are there jumps? none, as asked" in words
    assert "nke report law.nke data.csv" in words
    assert "an Ornstein–Uhlenbeck process" in words


def test_hostile_names_are_text(pages):
    page = pages["hostile_report"]
    assert len([tag for tag, _ in page.found if tag == "script"]) == 3
    assert not [tag for tag, _ in page.found if tag in ("b", "i")]
    assert all(" ".join(name.split()) in text(page) for name in HOSTILE)
    charts = json.loads(page.scripts[1])
    labels = [choice["label"] for choice in charts["paths"]["choices"]]
    assert labels[0] == "<script>window.brok…"
    title = charts["paths"]["choices"][0]["panels"][0]["layout"]["yaxis"]["title"]["text"]
    assert title == "&lt;script&gt;window.brok… [&lt;i&gt;mm&lt;/i&gt;]"


def test_every_chart_is_there(pages):
    both = {"paths", "densities", "drift", "diffusion", "forecast", "stationary", "autocorrelation", "calibration"}
    both |= {"increments"}
    assert set(json.loads(pages["dated_report"].scripts[1])) == both
    assert set(json.loads(pages["hostile_report"].scripts[1])) == both | {
        "drift-plane", "diffusion-plane", "jump-rate-plane", "jump-rate", "jump-law"
    }  # fmt: skip


def test_dates_stand_on_the_axes(pages):
    charts = json.loads(pages["dated_report"].scripts[1])
    assert charts["paths"]["choices"][0]["panels"][0]["data"][0]["x"][0] == "2024-03-01T00:00:00"
    assert charts["forecast"]["slider"][0].startswith("2024-03-0")


def test_a_law_that_is_wrong_is_told_so(hostile_report):
    """The data was simulated with drift −x: the same paths ten times as fast are not those of this law."""
    contents = hostile_report.contents
    fast = nke.Trajectories(np.asarray(contents.data.states), 1.0, contents.model.names)
    found = nke.reporting.words.verdict(
        type(contents)(**{**vars(contents), "evaluation": nke.evaluate(contents.model, fast)})
    )
    assert found.level == "bad"
    assert found.problems[0][1]


def test_the_markdown_folder(hostile_report, tmp_path):
    files = hostile_report.save_static(tmp_path / "static")
    text = files[0].read_text()
    assert all(file.is_file() for file in files)
    shown = re.findall(r"\]\(([\w-]+\.png)\)", text)
    assert {file.name for file in files if file.suffix == ".png"} == set(shown)
    assert {file.stem for file in files if file.suffix == ".pdf"} == {name[:-4] for name in shown}
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert "<" not in outside
    assert r"\$a\_1\$" in outside


def test_another_ending_is_refused(dated_report, tmp_path):
    with pytest.raises(nke.errors.InputError, match=r"ends in \.html"):
        dated_report.save(tmp_path / "report.pdf")


def test_other_data_is_refused():
    with pytest.raises(nke.errors.InputError, match="expected data with 2 coordinates"):
        nke.report(linear(2), recorded(3))
