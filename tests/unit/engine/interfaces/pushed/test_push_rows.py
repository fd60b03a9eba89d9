"""Whatever form rows are pushed in, the same rows are taken and the same values refused."""

import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.interfaces.pushed.push_rows import table_of
from penstock.errors import BadRowError

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("id", pa.string()), ("n", pa.int32()), ("x", pa.float64())]
)
NESTED = pa.schema([("id", pa.string()), ("xs", pa.list_(pa.int32()))])
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
Row = dict[str, Any]


class Frame:
    """A frame of a library that is known by Arrow's PyCapsule interface alone, as polars is."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def as_polars(table: pa.Table) -> Frame:
    """Return a frame with the types that polars exports: large and viewed text."""
    fields = [f.with_type(pa.string_view()) if f.name == "id" else f for f in table.schema]
    return Frame(table.cast(pa.schema(fields)))


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 2**52).map(lambda us: EPOCH + timedelta(microseconds=us)),
            "id": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
            "n": st.integers(-(2**31), 2**31 - 1),
            "x": st.none() | st.floats(allow_nan=False),
        }
    ),
    min_size=1,
    max_size=5,
)
FORMS: dict[str, Callable[[pa.Table], Any]] = {
    "rows": lambda table: table.to_pylist(),
    "a generator of rows": lambda table: iter(table.to_pylist()),
    "columns": lambda table: table.to_pydict(),
    "tuples": lambda table: {k: tuple(v) for k, v in table.to_pydict().items()},
    "arrays": lambda table: {name: table[name] for name in table.column_names},
    "one array": lambda t: {name: t[name].combine_chunks() for name in t.column_names},
    "objects": lambda t: {k: np.array([*v, None], object)[:-1] for k, v in t.to_pydict().items()},
    "table": lambda table: table,
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "reader": lambda table: table.to_reader(),
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "series": lambda t: dict(t.to_pandas(types_mapper=pd.ArrowDtype).items()),
    "an index": lambda t: t.to_pandas(types_mapper=pd.ArrowDtype).set_index(np.arange(len(t)) * 7),
    "polars": as_polars,
    "upper case": lambda table: table.rename_columns([n.upper() for n in table.column_names]),
}


@settings(deadline=None)
@given(ROWS)
def test_every_form_gives_the_same_rows(rows: list[Row]) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    for form, made in FORMS.items():
        assert table_of(made(table), SCHEMA).equals(table), form


@settings(deadline=None)
@given(ROWS)
def test_a_mapping_of_scalars_is_one_row(rows: list[Row]) -> None:
    assert table_of(rows[0], SCHEMA).to_pylist() == rows[:1]


def test_text_and_bytes_are_values_and_never_columns() -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.string())])
    assert table_of({"a": "xy", "b": "zw"}, schema).to_pylist() == [{"a": "xy", "b": "zw"}]
    blobs = pa.schema([("a", pa.binary())])
    assert table_of({"a": b"xy"}, blobs).to_pylist() == [{"a": b"xy"}]


def test_a_row_may_hold_lists_where_its_columns_do() -> None:
    assert table_of({"id": "a", "xs": [1, 2]}, NESTED).to_pylist() == [{"id": "a", "xs": [1, 2]}]
    columns = {"id": ["a", "b"], "xs": [[1], None]}
    assert table_of(columns, NESTED).column("xs").to_pylist() == [[1], None]
    matrix = {"xs": np.array([[1, 2], [3, 4]])}
    assert table_of(matrix, NESTED)["xs"].to_pylist() == [[1, 2], [3, 4]]


def test_pandas_own_types_are_taken() -> None:
    frame = pd.DataFrame({"ts": pd.to_datetime(["2024-01-01 12:00"]), "n": [1], "x": [0.5]})
    expected = [{"ts": NOON, "id": None, "n": 1, "x": 0.5}]
    assert table_of(frame, SCHEMA).to_pylist() == expected
    assert table_of(frame.to_dict("records"), SCHEMA).to_pylist() == expected
    assert table_of(frame.to_dict("list"), SCHEMA).to_pylist() == expected
    texts = frame.assign(ts="2024-01-01T12:00:00Z")
    assert table_of(texts, SCHEMA).to_pylist() == expected


def test_nothing_is_pushed_by_empty_forms() -> None:
    for empty in ([], {}, {"n": []}, pa.table({"n": pa.array([], pa.int32())}), pd.DataFrame()):
        assert table_of(empty, SCHEMA).num_rows == 0


@pytest.mark.parametrize(
    "given",
    [
        {"n": 1, "N": 2},
        [{"n": 1, "N": 2}],
        {"n": [1], "N": [2]},
        pa.table({"n": [1], "N": [2]}),
        pa.table([[1], [2]], names=["n", "n"]),
        pd.DataFrame({"n": [1], "N": [2]}),
        {"n": [1, 2], "x": [1.0]},
        {"n": [1], "x": []},
        {"n": [1, 2], "id": "ab"},
        {"n": [1, 2], "id": b"ab"},
        {"n": [1, 2], "id": None},
        {"n": {1, 2}},
        {"n": [1, "2"]},
        {"n": pa.array(["1"])},
        {"n": np.array([1.5])},
        {"n": np.array([[1, 2]])},
        {"id": [1, 2]},
        {"nn": 1},
        {1: 1},
        {None: [1]},
        pd.DataFrame([[1]]),
        pd.DataFrame({"n": [1, "2"]}),
        pd.DataFrame({"n": [1.0, None]}),
        [{"n": 1}, None],
        [1, 2],
        ["n"],
        [["n", 1]],
        "n",
        b"n",
        None,
        5,
        object(),
        int,
    ],
)
def test_what_has_no_one_meaning_is_refused(given: Any) -> None:
    with pytest.raises(BadRowError) as raised:
        table_of(given, SCHEMA)
    assert raised.value.code == "BAD_ROW"
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("form", [name for name in FORMS if name != "upper case"])
@pytest.mark.parametrize(
    "column",
    [pa.array(["1", "2"]), pa.array([1.0, 2.5]), pa.array([True, False]), pa.array([1, 2**40])],
)
def test_every_form_refuses_the_same_values(form: str, column: pa.Array) -> None:
    with warnings.catch_warnings(), pytest.raises(BadRowError, match=r"row [01], column n"):
        table_of(FORMS[form](pa.table({"id": ["a", "b"], "n": column})), SCHEMA)


@pytest.mark.parametrize("form", [name for name in FORMS if name != "upper case"])
def test_lenient_streams_take_whole_numbers_of_any_type(form: str) -> None:
    floats = pa.table({"id": ["a", "b"], "n": [1.0, -2.0]})
    assert table_of(FORMS[form](floats), SCHEMA, lenient=True)["n"].to_pylist() == [1, -2]
    for wrong in (1.5, float("nan"), float("inf"), 2.0**40):
        with pytest.raises(BadRowError, match="row 1, column n"):
            table_of(
                FORMS[form](pa.table({"id": ["a", "b"], "n": [1.0, wrong]})), SCHEMA, lenient=True
            )
