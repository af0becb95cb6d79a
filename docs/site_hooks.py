"""Hooks of the documentation site: files of the repository that pages link to become part of it.

Pages are written to be read in the repository too, so that some link to ``../benchmarks/tables.md`` or to a source
file. The site has no repository beside it: what is linked is copied below ``repository/``.
"""

import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r"\]\((?:\.\./)+([^)#\s]+)(#[^)\s]*)?\)")
PLACES = {"README.md": "index.md"}


def on_files(files: Any, config: Any) -> Any:
    """Adds every file outside of docs that a page links to."""
    from mkdocs.structure.files import File

    linked = {target for page in files.documentation_pages() for target in _outside(page.src_uri, page.content_string)}
    for target in sorted(linked - PLACES.keys()):
        kept = File.generated(config, f"repository/{target}", abs_src_path=str(ROOT / target))
        files.append(kept)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Leads links that leave docs to their copies."""
    up = "../" * (len(PurePosixPath(page.file.src_uri).parts) - 1)
    targets = _outside(page.file.src_uri, markdown)

    def led(found: re.Match) -> str:
        if found[1] not in targets:
            return found[0]
        return f"]({up}{PLACES.get(found[1], f'repository/{found[1]}')}{found[2] or ''})"

    return OUTSIDE.sub(led, markdown)


def _outside(page: str, markdown: str) -> set[str]:
    """The files of the repository, outside of docs, to which a page links."""
    depth = len(PurePosixPath(page).parts)
    return {
        found[1]
        for found in OUTSIDE.finditer(markdown)
        if found[0].count("../") == depth and (ROOT / found[1]).is_file()
    }
