"""``nke report``: a page, and a folder of Markdown."""

import json

from command_line import refused, run, told
from nke.reporting import Contents, Report


def test_writes_a_page_and_a_folder(fitted, recorded, tmp_path, monkeypatch, dated_report):
    """What a report holds is tested without the command; here its files and its words."""
    given = []
    monkeypatch.setattr(Contents, "of", lambda *arguments: given.append(arguments) or dated_report.contents)
    monkeypatch.setattr(Report, "save_static", lambda self, folder: [folder / "report.md"])
    page, folder = tmp_path / "report.html", tmp_path / "static"
    facts = told("report", fitted, recorded, "--time", "hours", "-o", page, "--static", folder, "--beside", fitted)
    [(law, data, beside, seed, _)] = given
    assert law.model.names == data.names == ("size",)
    assert list(beside) == ["cells.nke"]
    assert seed == 0
    assert facts["files"] == [str(page), str(folder / "report.md")]
    text = page.read_text()
    assert facts["verdict"] in text
    assert "nke report cells.nke cells.csv --seed 0" in text
    assert json.dumps(str(tmp_path)) not in text


def test_a_wrong_name_is_refused_before_the_work(tmp_path):
    line = refused(run("report", tmp_path / "none.nke", tmp_path / "none.csv", "-o", tmp_path / "report.pdf"))
    assert "ends in .html" in line
