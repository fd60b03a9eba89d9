"""Joins by key and time bucket give the rows of nested loops, and of joins by key alone."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.engine.spark.application.session import Sessions, open_sessions
from penstock.model.own_names import LEFT, RIGHT
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, HopJoin, Scan, WindowJoin
from penstock.plan.operators.joins.hop_join import TIME
from penstock.plan.operators.joins.join_input import JoinInput, JoinStep
from penstock.plan.operators.joins.time_buckets import BUCKET, bucket_sql, spread_sql
from penstock.plan.operators.joins.window_join import (
    HASH,
    KINDS,
    MET,
    PRESERVED,
    UNTIL,
    How,
    JoinSide,
)
from tests.examples import examples

pytestmark = pytest.mark.spark

SLOW = settings(
    max_examples=examples(20),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
COLUMNS = ("id", "k", "x")
TYPES = ("bigint", "string", "int")
KEPT = pa.schema(
    {"id": pa.int64(), "k": pa.string(), "x": pa.int32(), MET: pa.int64(), UNTIL: pa.int64()}
)
Kept = dict[str, Any]
NAMES = [f"{age}_{side}" for age in ("new", "old", "all") for side in "lr"]


@dataclass(frozen=True)
class On:
    sql: str
    holds: Callable[[Kept, Kept], Any]


def same(left: Kept, right: Kept) -> bool:
    return left["k"] is not None and left["k"] == right["k"]


ONS = (
    On(f"({LEFT}.`k` = {RIGHT}.`k_r`)", same),
    On(f"({LEFT}.`k` <=> {RIGHT}.`k_r`)", lambda left, right: left["k"] == right["k"]),
    On(
        f"({LEFT}.`k` = {RIGHT}.`k_r`) AND ({LEFT}.`x` < {RIGHT}.`x_r`)",
        lambda left, right: same(left, right) and left["x"] < right["x"],
    ),
    On("", lambda *_: True),
)


@dataclass(frozen=True)
class Case:
    """What a run sees: rows that are new and old of each side, and the watermarks around it."""

    widths: tuple[int, int]
    rows: dict[str, list[Kept]]
    before: tuple[int, int]
    after: tuple[int, int]
    counts: dict[str, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    widths = draw(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any))
    ids = iter(range(1000))

    def some(width: int) -> list[Kept]:
        # Around zero, so that buckets begin before 1970 and their bounds are met often.
        drawn = st.tuples(
            st.integers(-12, 12), st.integers(0, width), st.sampled_from(("a", "b", None))
        )
        return [
            {"id": next(ids), "k": k, "x": at % 3, MET: at, UNTIL: at + stays}
            for at, stays, k in draw(st.lists(drawn, max_size=8))
        ]

    rows = {
        f"{age}_{side}": some(widths["lr".index(side)]) for age in ("new", "old") for side in "lr"
    }
    rows |= {f"all_{side}": rows[f"old_{side}"] + rows[f"new_{side}"] for side in "lr"}
    marks = st.sampled_from((BEGIN_OF_TIME, *range(-14, 15, 4), END_OF_TIME))
    before, after = (
        tuple(each)
        for each in zip(*(sorted(draw(st.tuples(marks, marks))) for _ in "lr"), strict=True)
    )
    counts = {name: draw(st.integers(1, 9)) for name in NAMES}
    return Case(widths, rows, before, after, counts)


def dense(widths: tuple[int, int], counts: dict[str, int]) -> Case:
    """Return every time twice on each side, once new and once old."""
    rows = {
        f"{age}_{side}": [
            {"id": at, "k": "ab"[at % 2], "x": at % 3, MET: at, UNTIL: at + width}
            for at in range(-9, 10)
        ]
        for side, width in zip("lr", widths, strict=True)
        for age in ("new", "old")
    }
    for shift, name in enumerate(rows):
        for row in rows[name]:
            row["id"] += 100 * shift
    rows |= {f"all_{side}": rows[f"old_{side}"] + rows[f"new_{side}"] for side in "lr"}
    return Case(widths, rows, (-3, -3), (4, END_OF_TIME), counts)


FEW_LEFT = {"new_l": 1, "old_l": 1, "new_r": 9, "all_r": 9}  # so that the left is spread
EVEN = dict.fromkeys(NAMES, 9)


def join_of(kind: str, on: str, widths: tuple[int, int]) -> WindowJoin:
    schema = Schema((Column("ts", "timestamp"), *map(Column, COLUMNS, TYPES)))
    time = EventTime("ts")
    left, right = (Scan(name, 1, schema, (time,)) for name in "ab")
    sides = (
        JoinSide(time, widths[0], tuple((name, name) for name in COLUMNS)),
        JoinSide(time, widths[1], tuple((name, f"{name}_r") for name in COLUMNS)),
    )
    return WindowJoin(left, right, sides, kind, on)


def nested_loops(kind: str, on: On, case: Case) -> Iterator[tuple[Any, ...]]:
    """Yield what a run gives, straight from what the module of the operator says."""
    new, old, everything = (
        [case.rows[f"{age}_{side}"] for side in "lr"] for age in ("new", "old", "all")
    )

    def meet(left: Kept, right: Kept) -> bool:
        together = left[MET] <= right[UNTIL] and right[MET] <= left[UNTIL]
        return together and bool(on.holds(left, right))

    def shown(row: Kept | None) -> tuple[Any, ...]:
        return tuple(row and row[name] for name in COLUMNS)

    if kind == "LEFT SEMI":
        for row in everything[0]:
            partners = [each for each in everything[1] if meet(row, each)]
            is_first = row in new[0] or not any(each in old[1] for each in partners)
            if partners and is_first:
                yield shown(row)
        return
    if kind != "LEFT ANTI":
        for left, right in product(*everything):
            if meet(left, right) and (left in new[0] or right in new[1]):
                yield shown(left) + shown(right)
    for place in PRESERVED.get(kind, ()):
        for row in passed(case, place):
            partners = everything[1 - place]
            if not any(meet(*((row, each) if place == 0 else (each, row))) for each in partners):
                alone = (shown(row), shown(None)) if place == 0 else (shown(None), shown(row))
                yield alone[0] if kind == "LEFT ANTI" else alone[0] + alone[1]


def passed(case: Case, place: int) -> Iterator[Kept]:
    """Yield the rows of a side that the other's watermark passes with this run."""
    name, before, after = "lr"[place], case.before[1 - place], case.after[1 - place]
    if after == BEGIN_OF_TIME:
        return
    for row in case.rows[f"all_{name}"]:
        is_due = row in case.rows[f"new_{name}"] or row[UNTIL] >= before
        if is_due and (row[UNTIL] < after or after == END_OF_TIME):
            yield row


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> Sessions:
    return open_sessions(spark=spark)


def relations(session: SparkSession, case: Case) -> dict[str, str]:
    for name, rows in case.rows.items():
        renamed = {c: f"{c}_r" for c in COLUMNS} if name.endswith("r") else {}
        table = pa.Table.from_pylist(rows, schema=KEPT)
        names = [renamed.get(c, c) for c in table.column_names]
        if rows:
            session.createDataFrame(table.rename_columns(names)).createOrReplaceTempView(name)
    return {name: name for name, rows in case.rows.items() if rows}


@SLOW
@example(case=dense((1, 4), EVEN), on=ONS[0], by_time=True)
@example(case=dense((1, 4), FEW_LEFT), on=ONS[3], by_time=True)
@example(case=dense((3, 0), EVEN), on=ONS[0], by_time=True)
@given(case=cases(), on=st.sampled_from(ONS), by_time=st.sampled_from((True, True, False)))
def test_a_run_by_time_gives_the_rows_of_nested_loops(
    case: Case, on: On, by_time: bool, sessions: Sessions
) -> None:
    at = relations(sessions.small, case)
    for kind in KINDS:
        join = join_of(kind, on.sql, case.widths)
        expected = Counter(nested_loops(kind, on, case))
        sql = join.run_sql(at, case.before, case.after, How(HASH, case.counts, by_time=by_time))
        found = sessions.small.sql(sql).collect() if sql else []
        assert Counter(tuple(row) for row in found) == expected, (kind, sql)


def test_tuples_of_one_window_are_found_by_time(sessions: Sessions) -> None:
    """Every time is there once new and once old, on each of three sides."""
    schema = Schema((Column("ts", "timestamp"), Column("id", "bigint")))
    times, size, slide = range(-7, 8), 3, 2
    inputs = [
        JoinInput(
            Scan(name, 1, schema, (EventTime("ts"),)), EventTime("ts"), (("id", f"{name}_id"),)
        )
        for name in "abc"
    ]
    join = HopJoin(tuple(inputs), size, slide, (JoinStep("INNER", ""),) * 2, "reuse")
    at = {}
    for place, name in enumerate("abc"):
        for age in ("new", "old"):
            ids = [f"({number if age == 'new' else 100 + number}L, {number}L)" for number in times]
            rows = f"VALUES {', '.join(ids)} AS v ({name}_id, {TIME})"
            at[f"{age}_{place}"] = f"(SELECT * FROM {rows})"
        at[f"all_{place}"] = f"(SELECT * FROM {at[f'new_{place}']} UNION ALL {at[f'old_{place}']})"
    found = sessions.small.sql(
        f"SELECT a_id, b_id, c_id FROM ({join.pairs_sql(at, by_time=True)})"
    ).collect()
    expected = [
        ids
        for ids in product([*times, *(100 + number for number in times)], repeat=3)
        if any(each < 50 for each in ids)
        and any(
            start <= min(seen) and max(seen) < start + size
            for seen in [[each if each < 50 else each - 100 for each in ids]]
            for start in range(-10, 10, slide)
        )
    ]
    assert Counter(map(tuple, found)) == Counter(expected)


@SLOW
@given(
    back=st.integers(0, 5),
    ahead=st.integers(0, 5),
    shift=st.sampled_from((-62_135_596_800_000_000, -7, 0, 253_402_300_799_999_999)),
)
def test_rows_that_can_meet_share_one_bucket(
    back: int, ahead: int, shift: int, sessions: Sessions
) -> None:
    length = max(back + ahead, 1)
    times = f"(SELECT id + {shift}L AS t FROM range(-20, 21))"
    spread = spread_sql(f"(SELECT t AS other FROM {times})", f"other - {back}L", length)
    found = sessions.small.sql(
        f"SELECT t - other AS apart, count_if({bucket_sql('t', length)} = {BUCKET}) AS shared "
        f"FROM {times} CROSS JOIN {spread} GROUP BY t, other"
    ).collect()
    assert len(found) == 41 * 41
    assert {row.shared for row in found if -back <= row.apart <= ahead} == {1}
    assert {row.shared for row in found} <= {0, 1}
