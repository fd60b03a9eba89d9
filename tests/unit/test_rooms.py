"""Every folder of the source can be read at a glance, and says what it is for."""

import ast
from pathlib import Path

import penstock

ROOT = Path(penstock.__file__).parent
MOST_MODULES = 14  # what a reader takes in as one list; past that a room has rooms inside
FOLDERS = sorted(path.parent for path in ROOT.rglob("__init__.py"))


def test_no_folder_has_more_modules_than_a_reader_takes_in() -> None:
    counts = {_name(each): len(list(each.glob("[!_]*.py"))) for each in FOLDERS}
    assert {name: count for name, count in counts.items() if count > MOST_MODULES} == {}


def test_every_room_says_what_it_is_for() -> None:
    silent = [each for each in FOLDERS if not ast.get_docstring(_tree(each / "__init__.py"))]
    assert [_name(each) for each in silent] == []


def test_every_folder_with_modules_is_a_room() -> None:
    folders = {path.parent for path in ROOT.rglob("*.py")}
    assert {_name(each) for each in folders - set(FOLDERS)} == set()


def _name(folder: Path) -> str:
    return folder.relative_to(ROOT).as_posix()


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
