"""The documentation site: what its navigation, references and gallery name exists."""

import re
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

import nke

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = sorted(path.stem for path in (DOCS / "gallery").glob("*.py") if path.stem != "make")
REFERENCES = re.findall(
    r"^::: (\S+)(?:\n    options: \{ heading: ([^,]+),)?",
    "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")),
    re.MULTILINE,
)
SHOWN = [heading or name for name, heading in REFERENCES]


def navigation() -> list[str]:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML: pip install 'nke[dev]'")

    def entries(items):
        for item in items:
            if isinstance(item, str):
                yield item
                continue
            [value] = item.values()
            yield from [value] if isinstance(value, str) else entries(value)

    return list(entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))


def test_every_page_is_in_the_navigation_once():
    pages = [str(path.relative_to(DOCS).as_posix()) for path in DOCS.rglob("*.md")]
    assert sorted(navigation()) == sorted(pages)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_to_files(page):
    words = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = [target.split("#")[0] for target in re.findall(r"\]\((?!https?:)([^)\s]*)\)", words)]
    assert [target for target in targets if target and not (page.parent / target).exists()] == []


def test_every_public_name_has_a_reference():
    assert {f"nke.{name}" for name in nke.__all__} | {f"nke.plots.{name}" for name in nke.plots.__all__} <= set(SHOWN)
    assert len(SHOWN) == len(set(SHOWN))


@pytest.mark.parametrize(("name", "heading"), REFERENCES)
def test_references_exist(name, heading):
    home, _, last = name.rpartition(".")
    found = getattr(import_module(home), last)
    assert found.__doc__
    assert not heading or attrgetter(heading.removeprefix("nke."))(nke) is found


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_have_a_page_a_picture_and_their_output(name):
    page = (DOCS / "gallery" / f"{name}.md").read_text(encoding="utf-8")
    assert f'--8<-- "gallery/{name}.py"' in page
    assert f'--8<-- "gallery/{name}.txt"' in page
    assert "diagnosis" in (DOCS / "gallery" / f"{name}.txt").read_text(encoding="utf-8")
    assert 0 < (DOCS / "gallery" / f"{name}.png").stat().st_size < 150_000
    assert f"({name}.png)" in page
    assert f"({name}.md)" in (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")


@pytest.mark.validation
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path):
    pytest.importorskip("arch", reason="needs the recordings: pip install 'nke[docs]'")
    pytest.importorskip("statsmodels", reason="needs the recordings: pip install 'nke[docs]'")
    script = DOCS / "gallery" / f"{name}.py"
    done = subprocess.run([sys.executable, "-W", "ignore", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
