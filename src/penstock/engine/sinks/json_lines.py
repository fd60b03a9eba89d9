"""Arrow tables as JSON, one object a line, a column at a time.

Values read as in plain_text; what JSON has no word for is a string, as in Spark's `to_json`:
NaN and the infinities, times, intervals, base64. Nulls are written as null, never left out.
The keys of a map are strings.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.sinks.plain_text import glued, is_finite, plain_text
from penstock.engine.trains.vectors import shown

MUST_ESCAPE = '["\\\\\\x00-\\x1f]'
ESCAPES = {chr(code): json.dumps(chr(code))[1:-1] for code in range(0x20)}


@dataclass(frozen=True, slots=True)
class BatchSize:
    """The most that becomes text at once."""

    rows: int = 65_536  # small enough for the caches
    bytes: int = 64 << 20  # a batch's text has to stay below 2 GiB, where Arrow's offsets end


BATCH_SIZE = BatchSize()


def json_lines(table: pa.Table, most: BatchSize = BATCH_SIZE) -> bytes:
    """Return one JSON object a row, each ended by a newline, as UTF-8."""
    return b"".join(joined(json_objects(batch, after="\n")) for batch in batches(table, most))


def json_objects(batch: pa.RecordBatch, *, before: str = "", after: str = "") -> pa.Array:
    """Return one JSON object a row as text, with `before` and `after` around each."""
    return _object(batch.schema.names, batch.columns, before, after)


def json_text(values: pa.Array) -> pa.Array:
    """Return each value as JSON text; nulls stay null."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return json_text(values.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        return json_text(values.storage)
    if pa.types.is_struct(kind):
        return _struct_text(values)
    if pa.types.is_map(kind):
        return _map_text(values)
    if is_list(kind):
        return glued("[", _joined_items(values, json_text(values.flatten())), "]")
    text = plain_text(values)
    if pa.types.is_floating(kind):
        return text if is_finite(values) else pc.if_else(pc.is_finite(values), text, _quoted(text))
    return text if is_bare(kind) else _quoted(_escaped(text))


def is_bare(kind: pa.DataType) -> bool:
    """Say whether JSON writes such values without quotes."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )


def is_list(kind: pa.DataType) -> bool:
    """Say whether such values are lists, of whatever layout."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def is_nested(kind: pa.DataType) -> bool:
    """Say whether such values have values inside."""
    if isinstance(kind, pa.BaseExtensionType):
        return is_nested(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return is_nested(kind.value_type)
    return is_list(kind) or pa.types.is_struct(kind) or pa.types.is_map(kind)


def batches(table: pa.Table, most: BatchSize = BATCH_SIZE) -> Iterator[pa.RecordBatch]:
    """Cut the table into batches whose text Arrow can hold."""
    table = shown(table)
    rows = max(1, min(most.rows, table.num_rows * most.bytes // max(1, table.nbytes)))
    for start in range(0, table.num_rows, rows):
        yield from table.slice(start, rows).combine_chunks().to_batches()


def _object(names: list[str], columns: list[pa.Array], before: str, after: str) -> pa.Array:
    parts: list[pa.Array | str] = []
    lead = before + "{"
    for name, column in zip(names, columns, strict=True):
        parts += [f"{lead}{json.dumps(name, ensure_ascii=False)}:", json_text(column)]
        lead = ","
    return pc.binary_join_element_wise(
        *parts, "}" + after, "", null_handling="replace", null_replacement="null"
    )


def _struct_text(values: pa.Array) -> pa.Array:
    names = [field.name for field in values.type]
    if not names:
        text = pa.array(["{}"] * len(values), pa.string())
    else:
        text = _object(names, values.flatten(), "", "")
    return _null_where(values, text)


def _map_text(values: pa.Array) -> pa.Array:
    entries = values.cast(pa.list_(pa.struct([values.type.key_field, values.type.item_field])))
    keys, items = entries.flatten().flatten()
    key = json_text(keys) if is_nested(keys.type) else plain_text(keys)
    pairs = glued(_quoted(_escaped(key)), ":", json_text(items).fill_null("null"))
    return glued("{", _joined_items(entries, pairs), "}")


def _joined_items(lists: pa.Array, items: pa.Array) -> pa.Array:
    """Return the items (text, one for each value in the lists) with commas between."""
    lengths = pc.list_value_length(lists).cast(pa.int64()).fill_null(0)
    ends = pc.cumulative_sum(lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
    texts = pa.LargeListArray.from_arrays(offsets, items.fill_null("null"))
    return _null_where(lists, pc.binary_join(texts, ","))


def _null_where(values: pa.Array, text: pa.Array) -> pa.Array:
    return text if not values.null_count else pc.if_else(values.is_valid(), text, None)


def _quoted(text: pa.Array) -> pa.Array:
    return glued('"', text, '"')


def _escaped(text: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(text, MUST_ESCAPE)).as_py():
        return text
    text = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), '"', '\\"')
    if pc.any(pc.match_substring_regex(text, "[\\x00-\\x1f]")).as_py():
        for raw, escape in ESCAPES.items():
            text = pc.replace_substring(text, raw, escape)
    return text


def joined(text: pa.Array) -> memoryview:
    """Return all the texts as one run of bytes: that is how Arrow lays them out."""
    _, offsets, data = text.buffers()
    if data is None:
        return memoryview(b"")
    ends = memoryview(offsets).cast("i")
    return memoryview(data)[ends[text.offset] : ends[text.offset + len(text)]]
