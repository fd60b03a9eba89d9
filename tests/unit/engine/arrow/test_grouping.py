"""Grouping in Arrow: as Spark groups, or not at all."""

import math
from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.arrow.grouping import Grouped, grouped

COLUMNS: list[Grouped] = [
    ("rows", "count", None),
    ("known", "count", "x"),
    ("total", "sum", "x"),
    ("least", "min", "y"),
    ("greatest", "max", "y"),
]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(("a", "b", None)),
        st.none() | st.integers(-(2**40), 2**40),
        st.none() | st.floats(allow_nan=False),
    ),
    max_size=30,
)


def table_of(rows: list[tuple[str | None, int | None, float | None]]) -> pa.Table:
    schema = pa.schema([("k", pa.string()), ("x", pa.int64()), ("y", pa.float64())])
    return pa.Table.from_pylist([dict(zip("kxy", row, strict=True)) for row in rows], schema)


@given(ROWS)
def test_groups_are_what_sql_makes_of_them(
    rows: list[tuple[str | None, int | None, float | None]],
) -> None:
    groups = defaultdict(list)
    for row in rows:
        groups[row[0]].append(row)
    found = grouped(table_of(rows), ["k"], COLUMNS)
    assert found is not None
    assert {row["k"]: row for row in found.to_pylist()} == {
        k: {
            "k": k,
            "rows": len(mine),
            "known": len(xs := [x for _, x, _ in mine if x is not None]),
            "total": sum(xs) if xs else None,
            "least": min((y for _, _, y in mine if y is not None), default=None),
            "greatest": max((y for _, _, y in mine if y is not None), default=None),
        }
        for k, mine in groups.items()
    }


@pytest.mark.parametrize("function", ["min", "max"])
def test_a_nan_is_sparks_to_order(function: str) -> None:
    table = pa.table({"k": [1, 1], "x": [1.0, math.nan]})
    assert grouped(table, ["k"], [("m", function, "x")]) is None
    assert grouped(table, ["k"], [("s", "sum", "x")]) is not None


def test_sums_that_could_pass_64_bits_are_sparks_to_refuse() -> None:
    near = pa.table({"k": [1, 1], "x": pa.array([2**62, 5], pa.int64())})
    assert grouped(near, ["k"], [("s", "sum", "x")]) is None
    assert grouped(near, ["k"], [("s", "max", "x")]) is not None
    low = pa.table({"k": [1, 1], "x": pa.array([-(2**63), 5], pa.int64())})
    assert grouped(low, ["k"], [("s", "sum", "x")]) is None


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.0, -0.0]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([[1], [2]]),
        pa.nulls(2),
        pa.array([1, 2], pa.duration("us")),
    ],
)
def test_keys_that_compare_otherwise_are_sparks(values: pa.Array) -> None:
    assert grouped(pa.table({"k": values}), ["k"], [("n", "count", None)]) is None


def test_decimals_are_not_summed_but_ordered() -> None:
    values = pa.array(["1.50", "2.50"]).cast(pa.decimal128(10, 2))
    table = pa.table({"k": [1, 1], "x": values})
    assert grouped(table, ["k"], [("s", "sum", "x")]) is None
    assert grouped(table, ["k"], [("s", "max", "x")]) is not None
