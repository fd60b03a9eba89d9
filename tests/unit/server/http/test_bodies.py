"""Bodies that are small as they come, and must stay so as rows."""

import io

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import BadRequestError, BadRowError, TooLargeError
from penstock.server.http.answers import ARROW, CSV
from penstock.server.http.bodies import rows_of

MOST = 1 << 20
LONG = "x" * 10_000


def sent(array: pa.Array) -> bytes:
    out = io.BytesIO()
    table = pa.table({"s": array})
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def repeated(text: str, times: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, np.int32)), pa.array([text]))


def viewed(text: str, times: int) -> pa.Array:
    """Return views that all name the same bytes."""
    view = pa.array([text], pa.string_view()).buffers()
    views = pa.py_buffer(view[1].to_pybytes()[:16] * times)
    return pa.Array.from_buffers(pa.string_view(), times, [None, views, *view[2:]])


@pytest.mark.parametrize("make", [repeated, viewed])
def test_values_that_share_their_bytes_count_each(make: object) -> None:
    assert callable(make)
    schema = pa.schema({"s": pa.string()})
    body = sent(make(LONG, 1_000))
    assert len(body) < MOST // 10
    with pytest.raises(TooLargeError):
        rows_of(body, ARROW, schema, MOST)
    lists = pa.ListArray.from_arrays(pa.array([0, 1_000], pa.int32()), make(LONG, 1_000))
    with pytest.raises(TooLargeError):
        rows_of(sent(lists), ARROW, schema, MOST)
    few = rows_of(sent(make(LONG, 10)), ARROW, schema, MOST)
    assert isinstance(few, pa.Table)
    assert few["s"].to_pylist() == [LONG] * 10


@pytest.mark.parametrize(
    "array",
    [
        pa.array([], pa.string()),
        pa.array(["a", None], pa.string_view()).slice(1),
        pa.array(["a", None, "a"]).dictionary_encode(),
        pa.array([{"a": [1], "b": None}, None]),
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        pa.nulls(3),
    ],
)
def test_what_is_small_is_taken(array: pa.Array) -> None:
    rows = rows_of(sent(array), ARROW, pa.schema({"s": array.type}), MOST)
    assert isinstance(rows, pa.Table)
    assert rows["s"].to_pylist() == array.to_pylist()


def test_runs_of_one_value_are_refused() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([10**9], pa.int32()), pa.array([LONG]))
    with pytest.raises(BadRequestError):
        rows_of(sent(runs), ARROW, pa.schema({"s": pa.string()}), MOST)


def test_a_value_nested_too_deeply_is_a_bad_row() -> None:
    body = b's\n"' + b"[" * 100_000 + b'"\n'
    with pytest.raises(BadRowError):
        rows_of(body, CSV, pa.schema({"s": pa.list_(pa.int64())}), MOST)
