"""First and last event times of rows, in microseconds since 1970."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.engine.trains.rows import Rows


def span_of(table: pa.Table, time: str) -> tuple[int, int] | None:
    """Return the first and last time of a table, or None without rows."""
    if not table.num_rows:
        return None
    span = pc.min_max(table[time].cast(pa.int64()))
    first, last = span["min"].as_py(), span["max"].as_py()
    return None if first is None else (first, last)


def span_of_rows(rows: Rows, time: str) -> tuple[int, int] | None:
    """Return the first and last time of rows; of those in files the footers tell, if they can."""
    if rows.table is not None:
        return span_of(rows.table, time)
    told = footer_span(rows.paths, time, some_null=True)
    if told is not None or not rows.count:
        return told
    spans = [span_of(pq.read_table(path, columns=[time]), time) for path in rows.paths]
    found = [each for each in spans if each is not None]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def footer_span(
    paths: Sequence[Path], time: str, *, some_null: bool = False
) -> tuple[int, int] | None:
    """Return the times that Parquet footers tell, or None where they do not.

    Unless some may be null, None as well where footers count nulls, or do not count them.
    """
    spans: list[tuple[int, int]] = []
    for path in paths:
        footer = pq.read_metadata(path)
        names = [footer.schema.column(i).path.lower() for i in range(footer.num_columns)]
        kind = next((f.type for f in footer.schema.to_arrow_schema() if f.name == time), None)
        if time.lower() not in names or kind is None or not pa.types.is_timestamp(kind):
            return None
        place = names.index(time.lower())
        for group in range(footer.num_row_groups):
            seen = footer.row_group(group).column(place).statistics
            if seen is None or not seen.has_min_max or not (some_null or seen.null_count == 0):
                return None
            bounds = pa.array([seen.min, seen.max]).cast(kind).cast(pa.timestamp("us", kind.tz))
            low, high = bounds.cast(pa.int64()).to_pylist()
            spans.append((low, high))
    return (min(low for low, _ in spans), max(high for _, high in spans)) if spans else None
