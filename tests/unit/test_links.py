"""Links between documents lead somewhere, and every page is in the site's navigation."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
NAVIGATION = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
MADE_OF_FILES_ABOVE = re.compile("project/")  # README's neighbours, as pages of the site
WHOLE_FOLDER = "decisions/"  # the build lists its files


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {each.replace(" ", "-") for each in kept}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


def test_every_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r"^ *- (?:[^:#]+: )?(\S+\.md)", NAVIGATION, re.MULTILINE)
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert sorted(name for name in listed if not MADE_OF_FILES_ABOVE.match(name)) == sorted(
        name for name in pages if not name.startswith(WHOLE_FOLDER)
    )
    assert f": {WHOLE_FOLDER}" in NAVIGATION


def test_every_record_of_a_decision_has_a_number_of_its_own() -> None:
    numbers = [page.name[:4] for page in (DOCS / WHOLE_FOLDER).glob("*.md")]
    assert len(set(numbers)) == len(numbers)
