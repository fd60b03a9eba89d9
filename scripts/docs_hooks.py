"""What `mkdocs` cannot read from docs/ alone: generated parts, and links out of the folder.

A page holds `<!-- generated: NAME -->` where the build puts what the code says of itself, so that
nothing is written down twice. Files above docs/ that newcomers ask for are pages of the site, too.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DECISIONS = "decisions/"
PICTURES = "benchmarks/results"
PROJECT_PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}
MARKER = re.compile(r"<!-- generated: (\w+) -->")
FENCE = re.compile(r"(```.*?```)", re.DOTALL)
ITEM = re.compile(r"(?:-|\d+\.) ")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every decision record into the navigation."""
    records = sorted(Path(config.docs_dir, DECISIONS).glob("*.md"))
    pages = [f"{DECISIONS}{record.name}" for record in records]
    config.nav = [
        {title: pages if below == DECISIONS else below}
        for entry in config.nav or []
        for title, below in entry.items()
    ]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages and the pictures that lie above docs/."""
    for name, uri in PROJECT_PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text()))
    for picture in sorted((ROOT / PICTURES).glob("*.png")):
        uri = f"{PICTURES}/{picture.name}"
        files.append(File.generated(config, uri, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Fill in what is generated, and lead links that point out of docs/ to pages of the site."""
    uri = page.file.src_uri
    pieces = FENCE.split(MARKER.sub(lambda found: _generated(found[1]), markdown))
    return "".join(
        piece
        if piece.startswith("```")
        else LINK.sub(lambda found: _led(found, uri), _with_room_for_lists(piece))
        for piece in pieces
    )


def _generated(name: str) -> str:
    """Return a generated part, by the Python that `penstock` on the path has."""
    python = Path(shutil.which("penstock") or "").with_name("python")
    script = ROOT / "scripts/docs_generated.py"
    return subprocess.run(  # noqa: S603  (our own script)
        [python, script, name], capture_output=True, text=True, check=True
    ).stdout


def _with_room_for_lists(text: str) -> str:
    """Put a blank line before each list: GitHub needs none after a paragraph or a block of code."""
    lines: list[str] = []
    in_list = False
    for line in text.split("\n"):
        is_item = ITEM.match(line) is not None
        if is_item and not in_list and (len(lines) == 1 or lines[-1:] != [""]):
            lines.append("")
        in_list = is_item or (in_list and bool(line))
        lines.append(line)
    return "\n".join(lines)


def _led(link: re.Match[str], uri: str) -> str:
    """Return a link as the site has it; what the site does not have is named as a file."""
    text, path, anchor = link[1], link[2], link[3] or ""
    origins = {made: Path(name) for name, made in PROJECT_PAGES.items()}
    origin = origins.get(uri, Path("docs", uri))
    target = PurePosixPath(os.path.normpath(origin.parent / path))
    if target.is_relative_to("docs") and (ROOT / target).is_file():
        made = str(target.relative_to("docs"))
    elif str(target) in PROJECT_PAGES:
        made = PROJECT_PAGES[str(target)]
    elif str(target.parent) == PICTURES and target.suffix == ".png":
        made = str(target)
    elif str(target) == "docs/decisions":
        made = min(f"{DECISIONS}{each.name}" for each in (ROOT / target).glob("*.md"))
    elif (ROOT / target).exists():
        return f"{text} (`{target}`)"
    else:
        return link[0]  # mkdocs warns of it
    return f"[{text}]({os.path.relpath(made, PurePosixPath(uri).parent)}{anchor})"
