"""Orders that a replay gives again, against Python's own stable sort."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.trains.sort_order import in_order_of, sorted_rows

MICROS = pa.timestamp("us", "UTC")
NAMES = ("start", "end")
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


def table(pairs: list[tuple[int, int]]) -> pa.Table:
    columns = list(zip(*pairs, strict=True)) or [(), ()]
    times = [pa.array(each, pa.int64()).cast(MICROS) for each in columns]
    return pa.table([*times, pa.array(range(len(pairs)), pa.int64())], names=[*NAMES, "n"])


@given(PAIRS, st.booleans())
def test_rows_come_by_time_and_else_as_they_were(
    pairs: list[tuple[int, int]], is_sorted: bool
) -> None:
    given_ = sorted(pairs) if is_sorted else pairs
    expected = sorted(range(len(given_)), key=lambda place: given_[place])
    assert in_order_of(table(given_), NAMES)["n"].to_pylist() == expected


@pytest.mark.parametrize("type_", [MICROS, pa.int64()])
def test_rows_without_a_time_come_last(type_: pa.DataType) -> None:
    found = in_order_of(pa.table({"at": pa.array([None, 2, 1], type_)}), ["at"])
    assert found["at"].cast(pa.int64()).to_pylist() == [1, 2, None]


@given(PAIRS)
def test_any_order_of_the_same_rows_becomes_one(pairs: list[tuple[int, int]]) -> None:
    rows = table(pairs)
    turned = rows.take(pa.array(range(rows.num_rows)[::-1], pa.int64()))
    assert sorted_rows(turned, ["end"]).equals(sorted_rows(rows, ["end"]))
