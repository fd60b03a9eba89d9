"""Arrow tables as CSV (RFC 4180 with plain newlines), a column at a time.

Values read as in plain_text, and nested ones as JSON. Only what needs quotes gets them, so an
empty field is a null and `""` an empty string. (pyarrow.csv quotes every string, has its own
words for times and NaN, and takes nothing nested.)
"""

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.sinks.json_lines import batches, is_nested, joined, json_text
from penstock.engine.sinks.plain_text import glued, plain_text

NEEDS_QUOTES = '[",\\r\\n]|^$|^\\s|\\s$'


def csv_text(table: pa.Table, *, header: bool = True) -> bytes:
    """Return one line a row as UTF-8, below a line of column names where wanted."""
    first = _header(table.schema.names) if header else b""
    return b"".join([first, *(joined(csv_lines(batch, "\n")) for batch in batches(table))])


def cell_text(values: pa.Array) -> pa.Array:
    """Return each value as plain text, nested ones as JSON; nulls stay null."""
    return json_text(values) if is_nested(values.type) else plain_text(values)


def csv_lines(batch: pa.RecordBatch, end: str = "") -> pa.Array:
    """Return one line a row, each with what ends it."""
    # A line with nothing on it is no row to most readers.
    null = '""' if batch.num_columns == 1 else ""
    parts: list[pa.Array | str] = []
    for column in batch.columns:
        parts += [",", _quoted_where_needed(cell_text(column))]
    return pc.binary_join_element_wise(
        *parts[1:], end, "", null_handling="replace", null_replacement=null
    )


def _quoted_where_needed(text: pa.Array) -> pa.Array:
    needed = pc.match_substring_regex(text, NEEDS_QUOTES)
    if not pc.any(needed).as_py():
        return text
    return pc.if_else(needed, glued('"', pc.replace_substring(text, '"', '""'), '"'), text)


def _header(names: list[str]) -> bytes:
    cells = _quoted_where_needed(pa.array(names, pa.string())).to_pylist()
    return (",".join(cells) + "\n").encode()
