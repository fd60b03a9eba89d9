"""The rows that a join keeps: nothing that is needed goes, and parts stay few."""

import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.states.joins.join_rows import JoinRows
from penstock.engine.states.state import KeptPart
from penstock.engine.trains.rows import COMPACT_PARTS
from penstock.model.schema import Column, Schema

SCHEMA = Schema((Column("id", "bigint"), Column("m", "bigint"), Column("u", "bigint")))


def rows_in(kept: JoinRows) -> list[tuple[int, int]]:
    tables = [part.rows.to_table(SCHEMA) for part in kept.parts]
    return [(row["id"], row["u"]) for table in tables for row in table.to_pylist()]


def table_of(first: int, times: list[int], width: int) -> pa.Table:
    ids = range(first, first + len(times))
    return pa.table({"id": ids, "m": times, "u": [time + width for time in times]}).cast(
        pa.schema([(name, pa.int64()) for name in SCHEMA.names])
    )


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=4), st.integers(0, 2)), max_size=60),
    st.integers(0, 20),
)
def test_what_is_needed_stays_in_order_and_in_few_parts(
    steps: list[tuple[list[int], int]], width: int
) -> None:
    kept, given_rows, now = JoinRows(SCHEMA, "m", "u"), [], 0
    with tempfile.TemporaryDirectory() as directory:
        for ahead, step in steps:
            now += step
            table = table_of(len(given_rows), [now + each for each in ahead], width)
            given_rows += [(row["id"], row["u"]) for row in table.to_pylist()]
            kept.accept(kept.part_of(table), now, Path(directory))
            found = rows_in(kept)
            assert found == sorted(found)
            assert {row for row in given_rows if row[1] >= now} <= set(found) <= set(given_rows)
            assert len(kept.parts) <= 3 * COMPACT_PARTS
            spans = [(part.first, part.last) for part in kept.parts]
            assert all(last >= now for _, last in spans)
    again = JoinRows(SCHEMA, "m", "u").back(
        KeptPart(part.rows, part.facts) for part in kept.kept(side=0)
    )
    assert rows_in(again) == rows_in(kept)
    assert [part.last for part in again.parts] == [part.last for part in kept.parts]
