import io
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.sinks.parquet_bytes import parquet_bytes

ROWS = pa.table(
    {
        "n": pa.array(range(1000)),
        "s": pa.array([f"x{n % 7}" for n in range(1000)]),
        "l": pa.array([[n, None] for n in range(1000)]),
        "d": pa.array([{"a": n, "b": [{"c": "y"}]} for n in range(1000)]),
        "m": pa.array(
            [[("k", [n])] for n in range(1000)], pa.map_(pa.string(), pa.list_(pa.int64()))
        ),
    }
)


def read_back(table: pa.Table) -> pa.Table:
    out = io.BytesIO()
    pq.write_table(table, out)
    return pq.ParquetFile(out).read()


def test_a_table_that_went_through_a_file_gives_the_same_bytes() -> None:
    again = read_back(read_back(ROWS))
    assert not again.schema.equals(ROWS.schema, check_metadata=True)
    assert parquet_bytes(again).equals(parquet_bytes(ROWS))
    assert (
        pq.ParquetFile(pa.BufferReader(parquet_bytes(again))).read().to_pylist() == ROWS.to_pylist()
    )


@given(cuts=st.lists(st.integers(0, 1000), max_size=5))
def test_chunks_do_not_show(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), 1000]
    pieces = [ROWS.slice(a, b - a) for a, b in pairwise(places)]
    assert parquet_bytes(pa.concat_tables(pieces)).equals(parquet_bytes(ROWS))


def test_what_is_never_null_and_what_others_noted_do_not_show() -> None:
    fields = [field.with_nullable(False) for field in ROWS.schema]
    told = pa.table(ROWS.columns, schema=pa.schema(fields, {"who": "spark"}))
    assert parquet_bytes(told).equals(parquet_bytes(ROWS))


@pytest.mark.parametrize("metadata", [{"vector": "float"}, {"vector": "float", "more": "x"}])
def test_what_a_field_says_of_itself_stays(metadata: dict[str, str]) -> None:
    field = pa.field("v", pa.binary(), metadata=metadata)
    rows = pa.table([pa.array([b"ab"])], schema=pa.schema([field]))
    back = pq.ParquetFile(pa.BufferReader(parquet_bytes(rows))).read()
    assert {k.encode(): v.encode() for k, v in metadata.items()}.items() <= (
        back.schema.field(0).metadata or {}
    ).items()


def test_a_table_of_no_rows_is_a_file_too() -> None:
    assert pq.ParquetFile(pa.BufferReader(parquet_bytes(ROWS.slice(0, 0)))).read().num_rows == 0
