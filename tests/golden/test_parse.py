"""Scripts beside what they parse to; PENSTOCK_GOLDEN=write writes the latter anew."""

import os
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlglot import exp

from penstock.model.definitions import Connector, QueryDefinition
from penstock.model.schema import Schema
from penstock.model.windows import Window
from penstock.sql import (
    CreateQuery,
    CreateStream,
    CreateTable,
    Explain,
    SelectOnce,
    Statement,
    parse,
    parse_select,
    to_sql,
    window_of,
)

SCRIPTS = sorted((Path(__file__).parent / "parse").glob("*.sql"))
UNSHOWN = ("text", "place", "values")  # the script itself shows them, or the actions do


def shown(value: object) -> str:
    match value:
        case Statement():
            return "\n".join(f"  {line}" for line in dump(value).splitlines()).strip()
        case exp.Expr():
            return to_sql(value)
        case Schema():
            return value.ddl()
        case Connector(name, options):
            return f"{name}({', '.join(f'{key} => {one!r}' for key, one in options)})"
        case timedelta():
            return str(value)
        case _:
            return repr(value)


def lines_of(data: object) -> list[str]:
    assert is_dataclass(data)
    lines = []
    for field in fields(data):
        value = getattr(data, field.name)
        if field.name == "definition":
            lines += lines_of(value)
        elif field.name not in UNSHOWN and value not in (None, False, ()):
            lines.append(f"  {field.name}: {shown(value)}")
    return lines


def windows_in(tree: exp.Query) -> list[tuple[str, Window]]:
    inputs = tree.find_all(exp.Table, exp.Subquery)
    return [(node.alias_or_name, window) for node in inputs if (window := window_of(node))]


def dump(statement: Statement) -> str:
    place = f"{statement.place.line}:{statement.place.column}"
    lines = [f"{type(statement).__name__} at {place}", *lines_of(statement)]
    if isinstance(statement, CreateQuery | SelectOnce):
        lines += [f"  window of {name}: {one!r}" for name, one in windows_in(statement.select)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_parses_to_its_golden_statements(path: Path) -> None:
    found = "\n".join(dump(statement) for statement in parse(path.read_text()))
    golden = path.with_suffix(".txt")
    if os.environ.get("PENSTOCK_GOLDEN") == "write":
        golden.write_text(found)
    assert found == golden.read_text()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_statement_parses_by_itself_as_it_does_in_its_script(path: Path) -> None:
    for statement in parse(path.read_text()):
        (alone,) = parse(statement.text)
        # Inside an EXPLAIN stands another statement, with a place of its own.
        if not isinstance(statement, Explain):
            assert replace(alone, place=statement.place) == statement


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_definition_keeps_the_statement_and_the_select_as_they_were_written(path: Path) -> None:
    for statement in parse(path.read_text()):
        if isinstance(statement, CreateStream | CreateTable | CreateQuery):
            assert statement.definition.text == statement.text
        if isinstance(statement, CreateQuery):
            assert isinstance(statement.definition, QueryDefinition)
            assert statement.definition.select in statement.text
            assert parse_select(statement.definition.select) == statement.select


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_select_survives_printing(path: Path) -> None:
    for statement in parse(path.read_text()):
        if isinstance(statement, CreateQuery | SelectOnce):
            assert parse_select(to_sql(statement.select)) == statement.select
