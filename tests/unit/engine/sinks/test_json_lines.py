import base64
import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.sinks.json_lines import BatchSize, batches, json_lines, json_objects

Oracle = Callable[[Any], Any]


def lines(table: pa.Table) -> list[dict[str, Any]]:
    """Return what a reader gets; decimals and floats as they are written."""
    text = json_lines(table).decode()
    assert text.endswith("\n") or not text
    return [json.loads(line, parse_float=Decimal) for line in text.split("\n")[:-1]]


def flat(
    kind: pa.DataType, values: st.SearchStrategy[Any], oracle: Oracle
) -> st.SearchStrategy[Any]:
    return st.just((kind, st.none() | values, lambda v: None if v is None else oracle(v)))


def float_oracle(value: float) -> Any:
    if math.isnan(value):
        return "NaN"
    return Decimal(repr(value)) if math.isfinite(value) else f"{'-' * (value < 0)}Infinity"


def time_oracle(value: datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(timespec="microseconds").rstrip("0").rstrip(".")
    return text + ("Z" if value.tzinfo else "")


def same(value: Any) -> Any:
    return value


TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\r\t\x00\x1f\x7f'))
DECIMALS = st.integers(-(10**20) + 1, 10**20 - 1).map(lambda n: Decimal(f"{n}E-12"))
FLAT = st.one_of(
    flat(pa.int64(), st.integers(-(2**63), 2**63 - 1), same),
    flat(pa.bool_(), st.booleans(), same),
    flat(pa.float64(), st.floats(), float_oracle),
    flat(pa.string(), TEXTS, same),
    flat(pa.binary(), st.binary(), lambda value: base64.b64encode(value).decode()),
    flat(pa.decimal128(20, 12), DECIMALS, same),
    flat(pa.date32(), st.dates(), date.isoformat),
    flat(pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(UTC)), time_oracle),
    flat(pa.timestamp("us"), st.datetimes(), time_oracle),
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return lists(inner) | structs(inner) | maps(inner)


def lists(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return inner.map(
        lambda item: (
            pa.list_(item[0]),
            st.none() | st.lists(item[1], max_size=3),
            lambda v: None if v is None else [item[2](x) for x in v],
        )
    )


def structs(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(TEXTS, inner, max_size=3).map(
        lambda fields: (
            pa.struct([pa.field(name, kind) for name, (kind, _, _) in fields.items()]),
            st.none() | st.fixed_dictionaries({name: v for name, (_, v, _) in fields.items()}),
            lambda v: (
                None if v is None else {name: how[2](v[name]) for name, how in fields.items()}
            ),
        )
    )


def maps(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return inner.map(
        lambda item: (
            pa.map_(pa.string(), item[0]),
            st.none() | st.dictionaries(TEXTS, item[1], max_size=3).map(lambda d: list(d.items())),
            lambda v: None if v is None else {key: item[2](x) for key, x in v},
        )
    )


COLUMN = st.recursive(FLAT, nested, max_leaves=4)


@given(st.data())
def test_every_line_reads_back_as_its_row(data: st.DataObject) -> None:
    columns = data.draw(st.dictionaries(TEXTS, COLUMN, min_size=1, max_size=3))
    row = st.fixed_dictionaries({name: values for name, (_, values, _) in columns.items()})
    rows = data.draw(st.lists(row, max_size=6))
    start = data.draw(st.integers(0, 2))
    schema = pa.schema([pa.field(name, kind) for name, (kind, _, _) in columns.items()])
    table = pa.Table.from_pylist(rows, schema)
    wanted = [{name: how[2](row[name]) for name, how in columns.items()} for row in rows]
    assert lines(table) == wanted
    assert lines(table.slice(start)) == lines(table)[start:]


def test_the_text_is_compact_and_keeps_the_order_of_the_columns() -> None:
    table = pa.table({"b": [1, None], "a": ["é", '"']})
    assert json_lines(table).decode() == '{"b":1,"a":"é"}\n{"b":null,"a":"\\""}\n'


def test_no_rows_give_no_text() -> None:
    assert json_lines(pa.table({"a": pa.array([], pa.int64())})) == b""
    assert json_lines(pa.table({"a": pa.array([], pa.list_(pa.string()))})) == b""


def test_the_keys_of_a_map_are_texts() -> None:
    kind = pa.map_(pa.int64(), pa.float64())
    table = pa.table({"m": pa.array([[(1, 0.5), (2, None)], [], None], kind)})
    assert json_lines(table).decode() == '{"m":{"1":0.5,"2":null}}\n{"m":{}}\n{"m":null}\n'


def test_structs_without_fields_and_lists_of_a_fixed_size_are_written() -> None:
    table = pa.table(
        {
            "s": pa.array([{}, None], pa.struct([])),
            "f": pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
            "l": pa.array([["x"], None], pa.large_list(pa.string())),
            "v": pa.array([["y"], None], pa.list_view(pa.string())),
        }
    )
    assert lines(table) == [
        {"s": {}, "f": [1, 2], "l": ["x"], "v": ["y"]},
        {"s": None, "f": None, "l": None, "v": None},
    ]


def test_a_dictionary_and_a_null_column_are_written() -> None:
    table = pa.table({"d": pa.array(["a", "a"]).dictionary_encode(), "n": pa.nulls(2)})
    assert lines(table) == [{"d": "a", "n": None}] * 2


def test_intervals_are_iso_texts() -> None:
    table = pa.table({"i": pa.array([timedelta(seconds=1.5)], pa.duration("us"))})
    assert json_lines(table) == b'{"i":"PT1.5S"}\n'


@pytest.mark.parametrize("rows", [1, 2, 7, 1000])
def test_batches_do_not_show(rows: int) -> None:
    table = pa.concat_tables([pa.table({"a": [f"é{i}" for i in range(10)]})] * 3)
    assert json_lines(table, BatchSize(rows=rows)) == json_lines(table)


def test_wide_rows_are_taken_a_few_at_a_time() -> None:
    table, narrow = pa.table({"a": ["x" * 80] * 5}), BatchSize(bytes=100)
    assert [batch.num_rows for batch in batches(table, narrow)] == [1] * 5
    assert json_lines(table, narrow) == json_lines(table)
    assert len(lines(table)) == 5


def test_objects_can_be_wrapped() -> None:
    (batch,) = pa.table({"a": [1, 2]}).to_batches()
    wrapped = json_objects(batch, before='{"query":"q","row":', after="}")
    assert wrapped.to_pylist() == ['{"query":"q","row":{"a":1}}', '{"query":"q","row":{"a":2}}']
