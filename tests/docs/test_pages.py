"""The pages of the documentation: what they show runs, and what they name exists."""

import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nke
from command_line import run
from drawn_models import linear
from nke.files import recorded
from nke.fitting.fit import _by_kind
from nke.fitting.suited_coordinates import SuitedCoordinates

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)  # those of other libraries are marked ``py``
COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
WITH_CODE = ("quick-start.md", "recipes.md", "questions.md", "migrating.md")
WRITTEN_HERE = ("index.md", "limits.md", *WITH_CODE)


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def run_blocks(page: str, folder: Path, names: dict) -> dict:
    """Runs the Python blocks of a page one after the other, in a folder with a table of recorded states."""
    nke.write(names["data"], folder / "cells.csv")
    path = np.asarray(names["data"].states)[0, :, 0]
    names = {"x": path, "dt": 0.02, **names}
    for block in BLOCK.findall(text(page)):
        exec(compile(block, page, "exec"), names)
    return names


@pytest.fixture
def quick(monkeypatch, small_fit):
    """A fit and a report that look at all that they are given, and give what was made before."""
    fit, report, made = nke.fit, nke.report, []

    def quick_fit(*given, **options):
        asked = inspect.signature(fit).bind(*given, **options).arguments
        method, step = _by_kind(asked.get("given", ()), asked.get("method"), asked.get("step"))
        data = recorded(asked["data"], step)
        known = [options.get(name) for name in ("positive", "periodic", "bounds")]
        if any(known):
            SuitedCoordinates.of(data, method or nke.Likelihood(), None, *known, 0)
        made.append(data)
        return SimpleNamespace(model=linear(1)) if options.get("jumps") else small_fit["result"]

    def quick_report(*given, **options):
        inspect.signature(report).bind(*given, **options)
        return SimpleNamespace(save=lambda path: Path(path).write_text("a report"))

    monkeypatch.setattr(nke, "fit", quick_fit, raising=False)
    monkeypatch.setattr(nke, "report", quick_report, raising=False)
    monkeypatch.setattr(nke, "diagnose", lambda model, data: SimpleNamespace(verdict=""), raising=False)
    return made


@pytest.mark.parametrize("page", WITH_CODE)
def test_blocks_run(page, quick, small_fit, tmp_path, monkeypatch):
    """With a fit made before; ``test_blocks_run_in_earnest`` makes every one."""
    monkeypatch.chdir(tmp_path)
    run_blocks(page, tmp_path, dict(small_fit))
    assert bool(quick) == ("nke.fit(" in "".join(BLOCK.findall(text(page))))


@pytest.mark.validation
@pytest.mark.parametrize("page", WITH_CODE)
def test_blocks_run_in_earnest(page, small_fit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(page, tmp_path, dict(small_fit))
    assert page != "quick-start.md" or (tmp_path / "report.html").stat().st_size > 1e6


@pytest.mark.parametrize("page", WRITTEN_HERE)
def test_commands_exist(page):
    """And their options."""
    lines = "\n".join(COMMANDS.findall(text(page))).splitlines()
    for line in (line.split("#")[0] for line in lines if line.startswith("nke ")):
        command, *words = line.split()[1:]
        shown = run(command, "--help")
        assert shown.exit_code == 0, line
        assert all(word in shown.stdout for word in words if word.startswith("-")), line


def test_centred_differences_lose_the_drift(small_fit, quick, capsys, tmp_path, monkeypatch):
    """As the page about other libraries says: their slope is near zero where it is −1."""
    monkeypatch.chdir(tmp_path)
    run_blocks("migrating.md", tmp_path, dict(small_fit))
    [slopes] = re.findall(r"^(-?\d\.\S+) (-?\d\.\S+)$", capsys.readouterr().out, re.MULTILINE)
    assert abs(float(slopes[0])) < 0.15
    assert abs(float(slopes[1]) + 1) < 0.3


def test_the_stratonovich_drift_of_the_page(tmp_path, monkeypatch):
    """f − a′/4: of dx = ½x dt + x dW, a = x², it is zero."""
    [block] = [block for block in BLOCK.findall(text("questions.md")) if "stratonovich" in block]
    law = SimpleNamespace(drift=lambda x: x[:, None] / 2, diffusion=lambda x: x[:, None, None] ** 2)
    names = {"model": law, "x": np.linspace(0.5, 2, 5)}
    exec(block, names)
    np.testing.assert_allclose(names["stratonovich"], 0, atol=1e-9)
