"""Rows of tables with different columns, in one table."""

import pyarrow as pa

from penstock.engine.trains.unlike_rows import unlike_rows


def test_columns_that_a_table_has_not_are_null() -> None:
    found = unlike_rows([pa.table({"a": [1], "b": ["x"]}), pa.table({"A": [2], "c": [0.5]})])
    assert found.to_pylist() == [
        {"a": 1, "b": "x", "c": None},
        {"a": 2, "b": None, "c": 0.5},
    ]


def test_a_column_of_different_types_is_text() -> None:
    tables = [
        pa.table({"v": pa.array([1, None], pa.int32())}),
        pa.table({"v": ["x"]}),
        pa.table({"V": [[1, 2]]}),
        pa.table({"v": [True]}),
    ]
    assert unlike_rows(tables)["v"].to_pylist() == ["1", None, "x", "[1, 2]", "true"]


def test_one_table_stays_as_it_is() -> None:
    table = pa.table({"v": pa.array([1], pa.int16())})
    assert unlike_rows([table]).equals(table)
