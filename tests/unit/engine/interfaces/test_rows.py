from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.interfaces.rows import require_times, table_of_rows, table_of_table
from penstock.errors import BadRowError

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("id", pa.string()), ("mph", pa.int32())])
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def column(values: list[Any], kind: pa.DataType) -> list[Any]:
    table = table_of_rows([{"c": value} for value in values], pa.schema([("c", kind)]))
    return list(table["c"].to_pylist())


@settings(deadline=None)
@given(st.lists(st.tuples(st.none() | st.text(), st.none() | st.integers(-(2**31), 2**31 - 1))))
def test_rows_that_fit_come_back_as_they_were(pairs: list[tuple[str | None, int | None]]) -> None:
    rows = [{"ts": NOON, "id": name, "mph": mph} for name, mph in pairs]
    table = table_of_rows(rows, SCHEMA)
    assert table.schema == SCHEMA
    assert table.to_pylist() == rows
    assert table_of_table(table, SCHEMA).equals(table)


def test_missing_columns_are_null_and_names_have_no_case() -> None:
    assert table_of_rows([{"TS": NOON}, {"id": "a"}], SCHEMA).to_pylist() == [
        {"ts": NOON, "id": None, "mph": None},
        {"ts": None, "id": "a", "mph": None},
    ]
    assert table_of_table(pa.table({"ID": ["a"]}), SCHEMA)["id"].to_pylist() == ["a"]


def test_times_come_aware_naive_or_as_iso_text() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5)))
    given = [NOON, elsewhere, NOON.replace(tzinfo=None), "2024-01-01T12:00:00Z"]
    assert column(given, pa.timestamp("us", "UTC")) == [NOON] * 4


def test_other_values_come_in_their_natural_python_types() -> None:
    assert column([Decimal("1.20"), 3, "4.5"], pa.decimal128(5, 2)) == [
        Decimal("1.20"),
        Decimal("3.00"),
        Decimal("4.50"),
    ]
    assert column([date(2024, 1, 1), "2024-01-02"], pa.date32()) == [
        date(2024, 1, 1),
        date(2024, 1, 2),
    ]
    assert column([np.int64(3), 4], pa.int8()) == [3, 4]
    assert column([1, np.float32(0.5)], pa.float64()) == [1.0, 0.5]
    assert column([[1, None], []], pa.list_(pa.int32())) == [[1, None], []]
    assert column([{"k": 1}], pa.map_(pa.string(), pa.int32())) == [[("k", 1)]]
    assert column([{"a": None}], pa.struct([("a", pa.int32())])) == [{"a": None}]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1.5, pa.int32()),
        (1.0, pa.int32()),
        (True, pa.int32()),
        ("5", pa.int32()),
        (2**31, pa.int32()),
        (1, pa.bool_()),
        (1, pa.string()),
        (b"a", pa.string()),
        ("\ud800", pa.string()),
        ("a", pa.binary()),
        ("1.5", pa.float64()),
        (True, pa.float64()),
        (1.5, pa.decimal128(5, 2)),
        (Decimal("1.234"), pa.decimal128(5, 2)),
        (Decimal("NaN"), pa.decimal128(5, 2)),
        ("many", pa.decimal128(5, 2)),
        (5, pa.timestamp("us", "UTC")),
        ("noon", pa.timestamp("us", "UTC")),
        (date(2024, 1, 1), pa.timestamp("us", "UTC")),
        (NOON, pa.timestamp("us")),
        (NOON, pa.date32()),
        ([1, "x"], pa.list_(pa.int32())),
        (5, pa.list_(pa.int32())),
        ({"b": 1}, pa.struct([("a", pa.int32())])),
    ],
)
def test_a_value_that_does_not_fit_is_named_by_row_and_column(
    value: object, kind: pa.DataType
) -> None:
    with pytest.raises(BadRowError) as raised:
        column([None, value], kind)
    assert raised.value.code == "BAD_ROW"
    assert "row 1, column c" in raised.value.message


def test_an_unknown_column_is_named_by_row() -> None:
    with pytest.raises(BadRowError, match="row 1, column speed"):
        table_of_rows([{"mph": 1}, {"speed": 2}], SCHEMA)
    with pytest.raises(BadRowError, match="column speed"):
        table_of_table(pa.table({"speed": [1]}), SCHEMA)


def test_a_row_that_is_no_mapping_is_refused() -> None:
    rows: Any = [{"mph": 1}, [1]]
    with pytest.raises(BadRowError, match="row 1"):
        table_of_rows(rows, SCHEMA)


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40))
def test_the_first_row_of_a_table_that_does_not_fit_is_named(at: int, more: int) -> None:
    numbers = [1] * at + [2**40] + [1] * more
    with pytest.raises(BadRowError, match=f"row {at}, column mph"):
        table_of_table(pa.table({"mph": pa.array(numbers, pa.int64())}), SCHEMA)


def test_a_table_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(BadRowError, match="column mph"):
        table_of_table(pa.table({"mph": ["5"]}), SCHEMA)


def test_a_row_without_a_time_is_named() -> None:
    table = table_of_rows([{"ts": NOON}, {"id": "a"}], SCHEMA)
    require_times(table, None)
    with pytest.raises(BadRowError, match="row 1, column ts"):
        require_times(table, "ts")
