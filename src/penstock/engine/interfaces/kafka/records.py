"""Records of a train as rows of the stream, in the order of partitions and offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Message

from penstock.engine.interfaces.interface import Ingest, Parts
from penstock.engine.interfaces.kafka.columns import column_of
from penstock.engine.interfaces.kafka.decoded import Decoded, Decoder
from penstock.engine.interfaces.kafka.feed import Records
from penstock.engine.interfaces.kafka.layout import Layout
from penstock.engine.interfaces.kafka.offsets import Partition, TrainRuns, part_name
from penstock.engine.interfaces.rejects import Reject, rejects_of, timeless
from penstock.engine.trains.types import arrow_schema

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Makes rows of records; `time` is the column of event times, if any."""

    layout: Layout
    decoder: Decoder
    time: str | None
    skips_tombstones: bool

    def read(self, records: Records, runs: TrainRuns) -> Ingest:
        """Return the rows of a train, what does not fit, and how far each partition's time is."""
        messages = [message for _, found in sorted(records.items()) for message in found]
        if self.skips_tombstones:
            messages = [message for message in messages if message.value() is not None]
        rejects: dict[int, Reject] = {}
        columns = self._beside(messages, rejects)
        values, alive = self._values(messages, rejects)
        columns |= {name: values[name] for name in self.layout.values.names}
        schema = arrow_schema(self.layout.schema)
        for name in self.layout.beside:
            columns[name] = columns[name].filter(pa.array(alive))
        rows = pa.table([columns[name] for name in schema.names], schema=schema)
        kept = [messages[at] for at in np.flatnonzero(alive)]
        rows, kept = self._timed(rows, kept, messages, rejects)
        told = [_placed(rejects[at], messages[at]) for at in sorted(rejects)]
        return Ingest(rows, rejects_of(told), self._parts(rows, kept, runs))

    def _beside(
        self, messages: Sequence[Message], rejects: dict[int, Reject]
    ) -> dict[str, pa.Array]:
        """Return what stands beside the values; a key or a header that is no text is null."""
        schema = arrow_schema(self.layout.schema)
        columns = {}
        for name, what in self.layout.beside.items():
            kind = schema.field(name).type
            try:
                columns[name] = column_of(what, kind, messages)
            except UnicodeDecodeError:
                columns[name] = pa.concat_arrays(
                    [self._one(what, kind, at, messages, rejects) for at in range(len(messages))]
                )
        return columns

    def _one(
        self,
        what: str,
        kind: pa.DataType,
        at: int,
        messages: Sequence[Message],
        rejects: dict[int, Reject],
    ) -> pa.Array:
        try:
            return column_of(what, kind, [messages[at]])
        except UnicodeDecodeError:
            of_what = what.removesuffix("_column")
            raw = (messages[at].value() or b"").decode(errors="replace")
            rejects[at] = Reject(raw, f"its {of_what} is not UTF-8", kind="encoding")
            return pa.nulls(1, kind)

    def _values(
        self, messages: Sequence[Message], rejects: dict[int, Reject]
    ) -> tuple[pa.Table, Mask]:
        """Return what the values hold, and which records have a row; tombstones hold nothing."""
        values = [message.value() for message in messages]
        there = np.array([value is not None for value in values], dtype=bool)
        decoded = self.decoder.decode([value for value in values if value is not None])
        places = np.flatnonzero(there)
        for at, reject in decoded.misfits.items():
            rejects.setdefault(int(places[at]), reject)
        return self._aligned(decoded, there, rejects)

    def _aligned(
        self, decoded: Decoded, there: Mask, rejects: Mapping[int, Reject]
    ) -> tuple[pa.Table, Mask]:
        alive = np.ones(len(there), dtype=bool)
        alive[list(rejects)] = False
        if decoded.rows.num_rows == len(there) == alive.sum():
            return decoded.rows, alive
        misfits = np.zeros(int(there.sum()), dtype=bool)
        misfits[list(decoded.misfits)] = True
        index = np.full(len(there), decoded.rows.num_rows)  # of the row without anything
        index[np.flatnonzero(there)[~misfits]] = np.arange(decoded.rows.num_rows)
        schema = decoded.rows.schema
        nothing = pa.table([pa.nulls(1, each.type) for each in schema], schema=schema)
        rows = pa.concat_tables([decoded.rows, nothing])
        return rows.take(pa.array(index[alive])), alive

    def _timed(
        self,
        rows: pa.Table,
        kept: list[Message],
        messages: Sequence[Message],
        rejects: dict[int, Reject],
    ) -> tuple[pa.Table, list[Message]]:
        """Split off the rows that have no event time."""
        if self.time is None or not rows[self.time].null_count:
            return rows, kept
        timed = pc.is_valid(rows[self.time]).to_numpy()
        places = {id(message): at for at, message in enumerate(messages)}
        for at in np.flatnonzero(~timed):
            raw = (kept[at].value() or b"").decode(errors="replace")
            rejects[places[id(kept[at])]] = timeless(raw, self.time)
        return rows.filter(pa.array(timed)), [kept[at] for at in np.flatnonzero(timed)]

    def _parts(self, rows: pa.Table, kept: Sequence[Message], runs: TrainRuns) -> Parts | None:
        """Return the greatest time of each partition, and which ones hold the stream's back."""
        if self.time is None:
            return None
        times = rows[self.time].cast(pa.int64())
        highs, first = dict[str, int](), 0
        for partition, count in _counts(kept):
            highs[part_name(partition)] = pc.max(times.slice(first, count)).as_py()
            first += count
        return Parts(highs, tuple(map(part_name, runs.live)))


def _counts(messages: Sequence[Message]) -> list[tuple[Partition, int]]:
    """Return how many records follow each other of each partition."""
    found: dict[Partition, int] = {}
    for message in messages:
        partition = (str(message.topic()), int(message.partition() or 0))
        found[partition] = found.get(partition, 0) + 1
    return list(found.items())


def _placed(reject: Reject, message: Message) -> Reject:
    """Return a reject that says where its record is."""
    where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
    return reject._replace(reason=f"{reject.reason} ({where})")
