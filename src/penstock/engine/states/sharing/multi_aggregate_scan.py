"""What a Python worker of Spark does in a scan: groups columns for many sections, by Arrow.

It is sent to the workers by value and needs nothing there but Arrow and numpy.
"""

import functools
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import cloudpickle

from penstock.engine.arrow import grouping
from penstock.engine.arrow.grouping import grouped
from penstock.plan.operators.windows.window_aggregate import PANE

ROWS = 1_000_000  # so many are grouped at once
SECTION, TABLE = "section", "rows"
SCHEMA = f"{SECTION} BIGINT, {TABLE} BINARY"
Batches = Iterable[pa.RecordBatch]
Share = Mapping[str, Any]
Ints = npt.NDArray[np.int64]


def scan_batches(shares: Sequence[Share]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return the work: batches of a scan's columns become tables of partials, by section."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        count = 0
        for batch in batches:
            waiting.append(batch)
            count += batch.num_rows
            if count >= ROWS:
                yield scan_table(pa.Table.from_batches(waiting), shares)
                waiting, count = [], 0
        if count:
            yield scan_table(pa.Table.from_batches(waiting), shares)

    return work


def scan_table(table: pa.Table, shares: Sequence[Share]) -> pa.RecordBatch:
    """Return every section's partials of some tuples; nothing where they are Spark's to make."""
    found = [_written(partials_of(table, share)) for share in shares]
    places = pa.array(np.arange(len(shares)), pa.int64())
    return pa.RecordBatch.from_arrays([places, pa.array(found, pa.binary())], [SECTION, TABLE])


def tables_of(answer: pa.Table, count: int) -> list[pa.Table | None]:
    """Return the partials of each section, None where Spark has to make them."""
    found: list[list[pa.Table | None]] = [[] for _ in range(count)]
    places, written = answer[SECTION].to_pylist(), answer[TABLE]
    for place, each in zip(places, written, strict=True):
        found[place].append(_read(each))
    return [_together(tables) for tables in found]


def partials_of(table: pa.Table, share: Share) -> pa.Table | None:
    """Return one section's partials of some tuples, None where they are Spark's to make."""
    columns = {name: table[source] for name, source in share["keys"]}
    known = np.ones(table.num_rows, dtype=bool)
    for name, source, numbers in share["buckets"]:
        own = np.array(numbers, dtype=np.int32)[table[source].to_numpy() + 1]
        known &= own >= 0
        columns[name] = pa.chunked_array([own])
    held = [_bits(table, predicates) for predicates in share["claims"]]
    for predicates, found in zip(share["claims"], held, strict=True):
        columns[predicates["name"]] = pa.chunked_array([found])
    if held:  # what nobody asks for need not be kept
        known &= functools.reduce(np.bitwise_or, held) != 0
    at = table[share["at"]].to_numpy()
    columns[PANE] = pa.chunked_array([at - at % share["pane"]])
    keys = list(columns)
    for _, _, source in share["aggregates"]:
        if source is not None:
            columns[source] = table[source]
    whole = pa.table(list(columns.values()), names=list(columns))
    if not known.all():
        whole = whole.filter(pa.array(known))
    return grouped(whole, keys, [tuple(each) for each in share["aggregates"]])


def _bits(table: pa.Table, predicates: Share) -> Ints:
    """Return the packed bits of predicates that hold: those that every asked column lets hold."""
    held = [
        np.array(bits, dtype=np.int64)[table[source].to_numpy() + 1]
        for source, bits in predicates["tables"]
    ]
    found = functools.reduce(np.bitwise_and, held) if held else np.zeros(table.num_rows, np.int64)
    column = predicates["column"]
    return found if column is None else found | table[column].to_numpy()


def _written(table: pa.Table | None) -> bytes:
    if table is None:
        return b""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue()


def _read(written: pa.BinaryScalar) -> pa.Table | None:
    buffer = written.as_buffer()
    return pa.ipc.open_stream(buffer).read_all() if buffer.size else None


def _together(tables: Sequence[pa.Table | None]) -> pa.Table | None:
    """Return what several workers made; they have met no tuple where there is nothing."""
    found = [table for table in tables if table is not None]
    if len(found) < len(tables):
        return None
    return pa.concat_tables(found) if found else pa.table({})


for module in (sys.modules[__name__], grouping):
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
