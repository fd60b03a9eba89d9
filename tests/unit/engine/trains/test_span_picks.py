"""Rows are picked as if each condition were asked of each row."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.trains.span_picks import pick
from penstock.model.schema import Column, Schema
from penstock.plan.operators.bundles.member import ColumnSpans
from penstock.plan.operators.bundles.spans import condition_of

SCHEMA = Schema((Column("n", "int"), Column("x", "double"), Column("s", "string")))
TYPES = {"n": pa.int32(), "x": pa.float64(), "s": pa.string()}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "n": st.integers(-3, 3) | st.sampled_from([-(2**31), 2**31 - 1]),
    "x": st.sampled_from([-0.0, 0.0, 1.0, -1.5, 1e300, math.inf, -math.inf, math.nan]),
    "s": st.sampled_from(["", "a", "a\0", "ab", "b", "é", "\uffff", "\U0001f697"]),
}
LITERALS = {
    "n": st.integers(-3, 3).map(str),
    "x": st.sampled_from(["-1.5", "0.0", "1.0", "2.5", "1e300"]),
    "s": st.sampled_from(["''", "'a'", "'ab'", "'é'", "'\uffff'", "'zz'"]),
}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
}
rows = st.lists(st.fixed_dictionaries({c: st.none() | v for c, v in VALUES.items()}), max_size=12)
comparisons = st.sampled_from(sorted(LITERALS)).flatmap(
    lambda c: st.tuples(st.just(c), st.sampled_from(sorted(COMPARED)), LITERALS[c])
)
conditions = st.lists(st.lists(comparisons, min_size=1, max_size=3, unique_by=lambda c: c[0]))


def holds(row: dict[str, Any], column: str, compared: str, literal: str) -> bool:
    """Say what Spark says: nothing compares with NULL, and NaN is above all numbers."""
    value = row[column]
    if value is None:
        return False
    if column == "s":
        return COMPARED[compared](value.encode(), literal.strip("'").encode())
    above = isinstance(value, float) and math.isnan(value)
    return COMPARED[compared]((above, 0.0 if above else value), (False, float(literal)))


def spans(column: str, compared: str, literal: str) -> ColumnSpans:
    found = condition_of(f"{column} {compared} {literal}", SCHEMA)
    assert found is not None
    return found.column, found.type, found.spans


@given(rows, conditions, st.integers(1, 5))
def test_rows_are_picked_as_each_condition_says_of_each_row(
    rows: list[dict[str, Any]], asked: list[list[tuple[str, str, str]]], cut: int
) -> None:
    pieces = [rows[at : at + cut] for at in range(0, len(rows), cut)]
    table = pa.concat_tables(
        [
            pa.table({c: pa.array([r[c] for r in p], t) for c, t in TYPES.items()})
            for p in [[], *pieces]
        ]
    )
    picked = pick(table, [[spans(*each) for each in one] for one in asked])
    expected = [
        [place for place, row in enumerate(rows) if all(holds(row, *each) for each in one)]
        for one in asked
    ]
    assert [places.tolist() for places in picked] == expected


def test_what_no_value_fulfils_picks_nothing() -> None:
    table = pa.table({"n": pa.array([1, None, 3], pa.int32())})
    (picked,) = pick(table, [[("n", "bigint", ())]])
    assert picked.tolist() == []
    assert np.issubdtype(picked.dtype, np.integer)
