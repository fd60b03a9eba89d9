"""Arrow tables as PostgreSQL's COPY takes them (its text format), a column at a time.

Values read as in plain_text, which PostgreSQL reads back as they were; bytes are in hex, lists
are its arrays, and what is nested deeper is JSON.
"""

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.clients.postgres.column_types import JSON, postgres_type
from penstock.engine.sinks.json_lines import batches, is_nested, joined, json_text
from penstock.engine.sinks.plain_text import glued, plain_text

NULL = "\\N"
MUST_ESCAPE = "[\\\\\\t\\n\\r]"
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}  # the backslash first
PLAIN_ITEM = "^[A-Za-z0-9_.+:-]+$"  # needs no quotes inside an array, unless it is the word NULL


def copy_text(table: pa.Table, documents: frozenset[str] = frozenset()) -> bytes:
    """Return one line a row; the columns named `documents` hold JSON on the other side."""
    return b"".join(joined(_lines(batch, documents)) for batch in batches(table))


def _lines(batch: pa.RecordBatch, documents: frozenset[str]) -> pa.Array:
    parts: list[pa.Array | str] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        text = json_text(column) if name in documents else _cell(column)
        parts += ["\t", _escaped(text)]
    return pc.binary_join_element_wise(
        *parts[1:], "\n", "", null_handling="replace", null_replacement=NULL
    )


def _cell(values: pa.Array) -> pa.Array:
    kind = values.type
    if _is_bytes(kind):
        return pa.array([v if v is None else f"\\x{v.hex()}" for v in values.to_pylist()])
    if not is_nested(kind):
        return plain_text(values)
    return json_text(values) if postgres_type(kind) == JSON else _array(values)


def _array(values: pa.Array) -> pa.Array:
    """Return lists of flat values as `{1,NULL,"two words"}`."""
    items = values.flatten()
    text = _cell(items)
    bare = pc.match_substring_regex(text, PLAIN_ITEM)
    bare = pc.and_(bare, pc.invert(pc.equal(pc.ascii_lower(text), "null")))
    quotes = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), '"', '\\"')
    text = pc.if_else(bare, text, glued('"', quotes, '"')).fill_null("NULL")
    lengths = pc.list_value_length(values).cast(pa.int64()).fill_null(0)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    lists = pa.LargeListArray.from_arrays(offsets, text.cast(pa.string()))
    made = glued("{", pc.binary_join(lists, ","), "}")
    return made if not values.null_count else pc.if_else(values.is_valid(), made, None)


def _escaped(text: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(text, MUST_ESCAPE)).as_py():
        return text
    for raw, escape in ESCAPES.items():
        text = pc.replace_substring(text, raw, escape)
    return text


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
