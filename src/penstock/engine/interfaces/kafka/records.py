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
from penstock.engine.interfaces.kafka.offsets import TrainRuns, part_name
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
        if self.skips_tombstones:
            records = {
                p: [m for m in found if m.value() is not None] for p, found in records.items()
            }
        messages = [message for _, found in sorted(records.items()) for message in found]
        rejects: dict[int, Reject] = {}
        columns = self._beside(messages, rejects)
        values, alive = self._values(messages, rejects)
        columns |= {name: values[name] for name in self.layout.values.names}
        schema = arrow_schema(self.layout.schema)
        for name in self.layout.beside:
            columns[name] = columns[name].filter(pa.array(alive))
        rows = pa.table([columns[name] for name in schema.names], schema=schema)
        rows, alive = self._timed(rows, alive, messages, rejects)
        told = [_placed(rejects[at], messages[at]) for at in sorted(rejects)]
        return Ingest(rows, rejects_of(told), self._parts(rows, alive, records, runs))

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
        self, rows: pa.Table, alive: Mask, messages: Sequence[Message], rejects: dict[int, Reject]
    ) -> tuple[pa.Table, Mask]:
        """Split off the rows that have no event time."""
        if self.time is None or not rows[self.time].null_count:
            return rows, alive
        timed = pc.is_valid(rows[self.time]).to_numpy()
        untimed = np.flatnonzero(alive)[~timed]
        for at in untimed.tolist():
            raw = (messages[at].value() or b"").decode(errors="replace")
            rejects[at] = timeless(raw, self.time)
        alive = alive.copy()
        alive[untimed] = False
        return rows.filter(pa.array(timed)), alive

    def _parts(
        self, rows: pa.Table, alive: Mask, records: Records, runs: TrainRuns
    ) -> Parts | None:
        """Return the greatest time of each partition, and which ones hold the stream's back."""
        if self.time is None:
            return None
        times = rows[self.time].cast(pa.int64())
        highs, place, first = dict[str, int](), 0, 0
        for partition, found in sorted(records.items()):
            count = int(alive[place : place + len(found)].sum())
            if count:
                highs[part_name(partition)] = pc.max(times.slice(first, count)).as_py()
            place, first = place + len(found), first + count
        return Parts(highs, tuple(map(part_name, runs.live)))


def _placed(reject: Reject, message: Message) -> Reject:
    """Return a reject that says where its record is."""
    where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
    return reject._replace(reason=f"{reject.reason} ({where})")
