"""Rows meet by time, too, where a key has many of them and the run is long; only there."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.engine.states.joins.crowded_keys import LEAST_BUCKETS, Meeting, are_crowded
from penstock.engine.states.joins.kept_rows import JoinRows, KeptRows
from penstock.engine.trains.memory_budget import MemoryBudget
from penstock.model.own_names import LEFT, RIGHT
from penstock.model.schema import Column, Schema

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

ROWS = 4_000
REACH = 1_000
TYPES = {"k": "bigint", "s": "array<bigint>", "m": "bigint", "u": "bigint"}
SCHEMA = Schema(tuple(Column(name, kind) for name, kind in TYPES.items()))
EQUAL = f"({LEFT}.`k` = {RIGHT}.`k`)"
NESTED = f"({LEFT}.`s` = {RIGHT}.`s`)"
KEYED = Meeting(EQUAL, (LEFT, RIGHT), REACH)


def table_of(rows: int, keys: int, span: int) -> pa.Table:
    numbers = range(rows)
    times = [number * span // rows for number in numbers]
    names = [number % keys for number in numbers]
    return pa.table({"k": names, "s": [[name] for name in names], "m": times, "u": times})


def crowded(
    rows: int = ROWS,
    keys: int = 3,
    span: int = 100 * REACH,
    meeting: Meeting = KEYED,
) -> bool:
    """Say what is decided of so many new rows on each side, at even times."""
    kept = KeptRows(tuple(JoinRows(SCHEMA, "m", "u") for _ in "lr"), "side", "lr")
    new = kept.parts_of([table_of(rows, keys, span)] * 2)
    return are_crowded(kept, new, kept.in_play(new), meeting)


def test_few_keys_in_a_long_run_are_crowded() -> None:
    assert crowded()
    assert crowded(rows=20_000)  # of which a sample is drawn


def test_many_keys_are_not() -> None:
    assert not crowded(keys=ROWS)
    assert not crowded(rows=20_000, keys=2_500)


def test_few_rows_are_not() -> None:
    assert not crowded(rows=900, keys=1)


def test_a_run_that_is_hardly_longer_than_the_windows_is_not() -> None:
    assert not crowded(span=(LEAST_BUCKETS - 1) * REACH)
    assert not crowded(meeting=Meeting(EQUAL, (LEFT, RIGHT), 1_000 * REACH))


def test_equal_times_are_a_key_themselves() -> None:
    assert not crowded(meeting=Meeting(EQUAL, (LEFT, RIGHT), 0))


@pytest.mark.parametrize("on", ["", f"({LEFT}.`k` < {RIGHT}.`k`)", NESTED])
def test_without_a_key_that_arrow_knows_all_rows_may_share_one(on: str) -> None:
    assert crowded(keys=ROWS, meeting=Meeting(on, (LEFT, RIGHT), REACH))


def test_keys_that_are_null_together_are_equal() -> None:
    on = f"({LEFT}.`k` <=> {RIGHT}.`k`)"
    assert not crowded(keys=ROWS, meeting=Meeting(on, (LEFT, RIGHT), REACH))


def test_old_rows_count_among_each_other_only_where_they_are_decided_upon(
    tmp_path: Path,
) -> None:
    kept = KeptRows(tuple(JoinRows(SCHEMA, "m", "u") for _ in "lr"), "side", "lr")
    new = kept.parts_of([table_of(ROWS, 3, 100 * REACH)] * 2)
    kept.accept(new, [0, 0], tmp_path, MemoryBudget())
    nothing = [None, None]
    assert not are_crowded(kept, nothing, kept.in_play(nothing), KEYED)
    assert are_crowded(kept, nothing, kept.in_play(nothing), replace(KEYED, decided=True))
