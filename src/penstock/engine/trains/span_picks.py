"""Picks: the rows that spans of some columns let through, found by searching and sorting.

Rows are laid out by bucket once for each column, whoever asks; what one who asks adds is a look at
where its buckets begin and end. Spans are comparisons that numpy and Arrow decide as Spark does
(plan/operators/bundles/spans.py): no rounding, NaN above all numbers, strings by their bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.operators.bundles.member import ColumnSpans
from penstock.plan.operators.bundles.spans import Span
from penstock.plan.sharing.buckets import NONE, Buckets, Numbers, buckets_of

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class LaidOut:
    """`numbers` are the rows' buckets, `order` the rows by bucket; each starts at its `starts`."""

    buckets: Buckets
    numbers: Array
    order: Array
    starts: Array

    def ranges(self, spans: Sequence[Span]) -> list[tuple[int, int]]:
        """Return the places in `order` of the rows that spans let through."""
        asked = map(self.buckets.numbers, spans)
        return [(self._start(first), self._start(last + 1)) for first, last in asked]

    def holds(self, rows: Array, spans: Sequence[Span]) -> Array:
        """Say of rows whether some span lets them through."""
        numbers = self.numbers[rows]
        asked: list[Numbers] = [self.buckets.numbers(span) for span in spans]
        hits = [(numbers >= first) & (numbers <= last) for first, last in asked]
        return np.logical_or.reduce(hits) if hits else np.zeros(len(rows), dtype=bool)

    def _start(self, bucket: int) -> int:
        return int(self.starts[bucket - NONE])


def pick(table: pa.Table, asked: Sequence[Sequence[ColumnSpans]]) -> list[Array]:
    """Return, for each who asks, the places of the rows that all of its columns let through."""
    wanted: dict[str, tuple[str, list[Span]]] = {}
    for column, type_, spans in (each for one in asked for each in one):
        wanted.setdefault(column, (type_, []))[1].extend(spans)
    laid = {
        column: _laid_out(table[column], buckets_of(column, type_, spans, optional=True))
        for column, (type_, spans) in wanted.items()
    }
    return [_picked(laid, each) for each in asked]


def _picked(laid: dict[str, LaidOut], asked: Sequence[ColumnSpans]) -> Array:
    """Look at the rows of the column that lets the fewest through, and ask the others of these."""
    ranges = {column: laid[column].ranges(spans) for column, _, spans in asked}
    fewest = min(ranges, key=lambda column: sum(end - start for start, end in ranges[column]))
    order = laid[fewest].order
    rows = np.concatenate([order[:0], *(order[start:end] for start, end in ranges[fewest])])
    for column, _, spans in asked:
        if column != fewest and len(rows):
            rows = rows[laid[column].holds(rows, spans)]
    return np.sort(rows)


def _laid_out(column: pa.ChunkedArray, buckets: Buckets) -> LaidOut:
    numbers = _numbers(column, buckets)
    order = np.argsort(numbers, kind="stable")
    every = np.arange(NONE, buckets.count + 1)
    return LaidOut(buckets, numbers, order, np.searchsorted(numbers[order], every))


def _numbers(column: pa.ChunkedArray, buckets: Buckets) -> Array:
    """Return the bucket of each row."""
    numbers = np.zeros(len(column), dtype=np.int32)
    if buckets.cuts:
        values, cuts = _comparable(column, buckets)
        below = np.searchsorted(cuts, values)
        found = below < len(cuts)
        found[found] = cuts[below[found]] == values[found]
        numbers = np.array(buckets.places(), dtype=np.int32)[2 * below + found]
    numbers[column.is_null().to_numpy()] = NONE
    return numbers


def _comparable(column: pa.ChunkedArray, buckets: Buckets) -> tuple[Array, Array]:
    """Return the rows' values, and those that have cuts, as numbers in the same order."""
    if buckets.type != "string":
        type_ = pa.int64() if buckets.type == "bigint" else pa.float64()
        values = pc.fill_null(column.cast(type_), 0).to_numpy()
        return values, np.array(buckets.values(), dtype=type_.to_pandas_dtype())
    encoded = column.combine_chunks().dictionary_encode()
    cuts = pa.array(buckets.values(), encoded.dictionary.type)
    together = pa.concat_arrays([encoded.dictionary, cuts])
    ranks = pc.rank(together, tiebreaker="dense").to_numpy()
    places = pc.fill_null(encoded.indices, 0).to_numpy()
    return ranks[places], ranks[len(encoded.dictionary) :]
