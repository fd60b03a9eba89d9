"""The rows that a join keeps: nothing that is needed goes, and parts stay few."""

import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.states.joins.kept_rows import JoinRows, KeptRows
from penstock.engine.states.state import KeptPart
from penstock.engine.trains.memory_budget import MemoryBudget
from penstock.engine.trains.rows import COMPACT_PARTS, in_memory
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
            kept.accept(kept.part_of(table), now, Path(directory), MemoryBudget())
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


def test_rows_without_their_span_are_taken_back_and_empty_ones_left() -> None:
    held = [table_of(0, [], 0), table_of(0, [7, 3], 10)]
    old = [KeptPart(in_memory(table), {"what": "there", "input": 0}) for table in held]
    kept = KeptRows((JoinRows(SCHEMA, "m", "u"), JoinRows(SCHEMA, "m", "u")))
    kept.back(old)
    (part,) = kept.parts
    assert (part.first, part.last, part.level) == (3, 17, 0)
    assert rows_in(kept.sides[0]) == [(0, 17), (1, 13)]


def test_relations_of_a_run_are_what_is_new_old_and_both_of_each_input() -> None:
    kept = KeptRows((JoinRows(SCHEMA, "m", "u"), JoinRows(SCHEMA, "m", "u")), names="lr")
    old = kept.parts_of([table_of(0, [1], 0), table_of(0, [2], 0)])
    kept.accept(old, [0, 0], Path(), MemoryBudget())
    new = kept.parts_of([table_of(0, [3], 0), table_of(0, [], 0)])
    assert [part is None for part in new] == [False, True]
    found = kept.in_play(new, lambda place, part: place == 1 and part.first == 2)
    counts = {name: [rows.table["m"].to_pylist() for rows in each] for name, each in found.items()}
    assert counts == {
        **{"new_l": [[3]], "old_l": [], "all_l": [[3]]},
        **{"new_r": [], "old_r": [[2]], "all_r": [[2]]},
    }
