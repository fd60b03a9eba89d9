"""The schema `system` as it is declared: to SHOW, to itself, and in the reference."""

from pathlib import Path
from typing import get_args

import pyarrow as pa
import pytest

from penstock.runtime.views.schema import VIEWS, view_rows
from penstock.runtime.views.view import TYPES, columns
from penstock.sql.grammar.statements import Kinds

REFERENCE = Path(__file__).parents[4] / "docs" / "reference" / "system.md"


def test_every_view_can_be_shown_and_nothing_else() -> None:
    assert {name.upper() for name in VIEWS} == set(get_args(Kinds))


def test_the_views_list_themselves_as_they_are_declared() -> None:
    rows = list(view_rows())
    assert [row["view"] for row in rows] == list(VIEWS)
    for row in rows:
        assert columns(row["columns"]) == VIEWS[row["view"]].columns
        assert row["about"]


@pytest.mark.parametrize("name", VIEWS)
def test_columns_have_names_of_their_own_and_types_of_sql(name: str) -> None:
    declared = VIEWS[name].columns
    assert len(set(declared.names)) == len(declared)
    assert set(declared.types) <= set(TYPES.values())


def test_columns_are_written_as_in_sql() -> None:
    declared = columns("query STRING, at TIMESTAMP")
    assert declared == pa.schema([("query", pa.string()), ("at", pa.timestamp("us", "UTC"))])
    with pytest.raises(KeyError):
        columns("query TEXT")


@pytest.mark.parametrize("name", VIEWS)
def test_the_reference_has_every_view_with_all_of_its_columns(name: str) -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    section = text.partition(f"\n## system.{name}\n")[2].partition("\n## ")[0]
    missing = [column for column in VIEWS[name].columns.names if f"`{column}`" not in section]
    assert section, f"no section of system.{name}"
    assert not missing
