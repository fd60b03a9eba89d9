"""Types and values over the wire and back are those that left."""

from datetime import UTC
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.sinks.json_lines import json_lines
from penstock.engine.trains.types import sql_types
from penstock.remote.answers import RowReader, table_of
from penstock.remote.sql_types import arrow_type

FLAT: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    pa.binary(): st.binary(max_size=8),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.timestamp("us"): st.datetimes(),
    pa.decimal128(20, 4): st.integers(-(10**19), 10**19).map(lambda n: Decimal(n).scaleb(-4)),
    pa.decimal128(38, 0): st.integers(-(10**37), 10**37).map(Decimal),
    pa.duration("us"): st.timedeltas(),
}
KEYS = [pa.string(), pa.int64(), pa.bool_(), pa.date32()]


@st.composite
def nested(draw: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    """Draw a type and what makes its values."""
    if not depth or draw(st.booleans()):
        kind = draw(st.sampled_from(list(FLAT)))
        return kind, FLAT[kind]
    inner, values = draw(nested(depth - 1))
    match draw(st.sampled_from(("array", "struct", "map"))):
        case "array":
            return pa.list_(inner), st.lists(values | st.none(), max_size=3)
        case "struct":
            fields = {"a": values, "b": values | st.none()}
            return pa.struct([("a", inner), ("b", inner)]), st.fixed_dictionaries(fields)
        case _:
            key = draw(st.sampled_from(KEYS))
            pairs = st.dictionaries(FLAT[key], values, max_size=3).map(lambda d: list(d.items()))
            return pa.map_(key, inner), pairs


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    columns = draw(st.lists(nested(), min_size=1, max_size=3))
    rows = draw(st.integers(1, 4))
    arrays = [
        pa.array(draw(st.lists(values | st.none(), min_size=rows, max_size=rows)), kind)
        for kind, values in columns
    ]
    return pa.table(arrays, [f"c{n}" for n in range(len(arrays))])


@given(tables())
def test_rows_are_read_as_they_were_written(table: pa.Table) -> None:
    words = sql_types(table.schema)
    assert [arrow_type(word) for word in words] == [pruned(kind) for kind in table.schema.types]
    reader = RowReader(dict(zip(table.column_names, words, strict=True)))
    rows = [reader.values(line) for line in json_lines(table).decode().split("\n")[:-1]]
    assert rows == table.to_pylist()
    assert reader.table(rows).to_pylist() == table.to_pylist()


def pruned(kind: pa.DataType) -> pa.DataType:
    """Return the type with the names of fields that nobody gave as Arrow gives them."""
    if pa.types.is_list(kind):
        return pa.list_(pruned(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(pruned(kind.key_type), pruned(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, pruned(field.type)) for field in kind])
    return kind


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_json_has_no_number_for_is_read_as_one(value: float) -> None:
    told = {np.inf: "Infinity", -np.inf: "-Infinity"}.get(value, "NaN")
    found = table_of(["x"], ["double"], [{"x": told}])["x"].to_pylist()
    assert np.array_equal(found, [value], equal_nan=True)


@pytest.mark.parametrize(
    "word", ["vector<float>", "array<vector>", "struct<a:vector>", "map<int>", "", "decimal", "<>"]
)
def test_a_type_that_is_not_known_leaves_values_as_they_are(word: str) -> None:
    assert arrow_type(word) is None
    assert table_of(["x"], [word], [{"x": [1, 2]}])["x"].to_pylist() == [[1, 2]]


@given(st.text(max_size=30))
def test_no_word_for_a_type_fails(word: str) -> None:
    arrow_type(word)
