"""What the site's build makes of the code, without the tools that build it."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import penstock
from penstock.errors import PenstockError

ROOT = Path(__file__).parents[2]
GENERATED: dict[str, Callable[[], str]] = runpy.run_path(str(ROOT / "scripts/docs_generated.py"))[
    "GENERATED"
]


def codes(kind: type[PenstockError]) -> set[str]:
    return {kind.code}.union(*map(codes, kind.__subclasses__()))


def test_the_page_of_errors_tells_of_every_code() -> None:
    made = GENERATED["errors"]()
    assert set(re.findall(r"^## ([A-Z_]+)$", made, re.MULTILINE)) == codes(PenstockError) - {
        PenstockError.code
    }
    assert made.count("*What to do:*") == made.count("\n## ") + 1


def test_pages_ask_for_nothing_that_is_not_generated() -> None:
    asked = [
        name
        for page in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"^<!-- generated: (\w+) -->$", page.read_text(), re.MULTILINE)
    ]
    assert sorted(asked) == sorted(GENERATED)


def test_the_page_of_python_shows_all_that_is_offered() -> None:
    page = (ROOT / "docs/reference/python.md").read_text()
    shown = set(re.findall(r"^::: penstock\.(\w+)$", page, re.MULTILINE))
    assert shown | {"errors"} == set(penstock.__all__)  # errors have a page of their own
