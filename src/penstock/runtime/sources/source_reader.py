"""A source reader turns one stream's source into numbered trains with their watermark."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.engine.interfaces.interface import Boundary, Interface, Parts
from penstock.engine.interfaces.rejects import without_timeless
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import Rows, empty_table, in_files, in_memory, write_parquet_at
from penstock.engine.trains.times import footer_span, span_of
from penstock.errors import PenstockError, SourceError, describe
from penstock.model.definitions import StreamDefinition
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, TrainInfo
from penstock.plan.operators import Scan, key
from penstock.qos.load.tempo import Tempo
from penstock.runtime.durable.journal import Journal, RecordedTrain
from penstock.runtime.durable.manifest import SourceRecord
from penstock.runtime.sources.disorder import Disorder, slack_from_json, slack_to_json
from penstock.runtime.work.meter import Meter
from penstock.schedule.costs.observation import deadline_of

# What reading a source's own record of what it has offered may raise where that is not whole.
UNREADABLE = (pa.ArrowException, ValueError, LookupError, TypeError)
PATIENCE = 10  # tries in a row before a run that waits for the end stops waiting
OPEN_SECONDS = 60.0  # at most, between two tries to open a source
END_BOUNDARY: Boundary = {"end": True}
IDLE_BOUNDARY: Boundary = {"idle": True}
PUNCTUATION = "punctuation"
CLOCK = "clock"  # a sign with the watermark that the wall clock has brought a silent stream to
CLOCK_SECONDS = 1.0  # between two such signs: each is a train that all readers take
TAKEN_BEFORE = 64  # trains that waited when a punctuation came and go before it
SIGNS = ({PUNCTUATION}, {CLOCK})


@dataclass(frozen=True, slots=True)
class PendingTrain:
    """A train that has been cut from its stream and not been read yet."""

    number: int
    boundary: Boundary
    arrived: float


class SourceReader:
    """One stream's way in. `cut` belongs to the supervisor's thread, `read` to a worker's."""

    number: int
    boundary: Boundary | None
    high: int | None

    def __init__(
        self, scan: Scan, definition: StreamDefinition, interface: Interface, rejects: Path
    ) -> None:
        """Start at the beginning; `restore` moves on."""
        self.scan, self.definition, self.interface = scan, definition, interface
        self.key = key(scan)
        self.rejects = rejects
        self.number, self.boundary = 0, None
        self.watermark, self.high = BEGIN_OF_TIME, None
        self.disorder = Disorder(definition.slack)
        self.parts: dict[str, int] = {}  # greatest event times, where parts go at their own pace
        self.rows = self.rejected = 0
        self.cause, self.retry_at, self.failures = "", 0.0, 0
        self.meter, self.tempo = Meter(), Tempo()
        self._replay: deque[RecordedTrain] = deque()
        self._again: PendingTrain | None = None
        self._ended = self._is_open = False
        self.is_held = False  # it begins later, when what is asked of it is warm
        self.idle = self.cutting = False  # while it cuts, what it takes is nowhere else yet
        self._heard: float | None = None  # when something came, or when it was first asked
        self._ticked = 0.0  # when the clock was last read to a silent stream
        # Also where it began: a checkpoint may come before anybody has read the first train.
        self._history: dict[int, SourceRecord] = {0: self._now()}

    @property
    def ended(self) -> bool:
        """Say whether the last train has been read."""
        return self._ended

    @property
    def is_new(self) -> bool:
        """Say whether no train has ever been read, in no run of the system."""
        return not (self.number or self._replay)

    def restore(self, kept: SourceRecord | None, recorded: Sequence[RecordedTrain]) -> None:
        """Go on where a checkpoint stood, through the trains that were recorded after it."""
        self._replay.extend(recorded)
        if kept is None:
            return
        self.number, self.boundary = kept.number, kept.boundary
        self.watermark, self.high = kept.watermark, kept.high
        if kept.slack is not None:
            self.disorder.measured = slack_from_json(kept.slack)
        self.parts = dict(kept.parts or {})
        self.rows, self.rejected = kept.rows, kept.rejected
        self._ended, self.idle = kept.ended, kept.idle
        self._history = {self.number: self._now()}

    def open(self) -> None:
        """Open the source behind the last train that was ever cut."""
        cuts = [self.boundary, *(recorded.boundary for recorded in self._replay)]
        real = [each for each in cuts if each is not None and not _is_sign(each)]
        try:
            self.interface.open(real[-1] if real else None)
        except UNREADABLE as error:
            raise SourceError(
                f"what the home keeps of stream {self.definition.name} is damaged: "
                f"{describe(error)}",
                hint="restore the home from a copy, or drop the stream and make it again",
            ) from error
        self._is_open = True

    def snapshot(self, number: int) -> SourceRecord:
        """Return what `restore` needs to go on behind train `number`, and forget what is older."""
        self._history = {each: kept for each, kept in self._history.items() if each >= number}
        return self._history.get(number) or self._now()

    def failed(self, cause: str, retry_at: float) -> None:
        """Note that the source could not be read."""
        if not self._is_open:  # to look whether it can be opened may mean to read much of it
            retry_at += min(OPEN_SECONDS, 2.0**self.failures)
        self.cause, self.retry_at, self.failures = cause, retry_at, self.failures + 1

    def recovered(self) -> None:
        """Note that the source could be read; a sign is read also where it is not open."""
        if self._is_open:
            self.cause, self.failures = "", 0

    @property
    def given_up(self) -> bool:
        """Say whether waiting for this source is pointless; it is still tried."""
        return self.failures >= PATIENCE

    def cut(self, journal: Journal, now: float = 0.0) -> PendingTrain | None:
        """Return the next train to read, recorded before anything is done with it."""
        if self._again is not None:
            again, self._again = self._again, None
            return again
        if self._replay:
            self._open_if_closed()
            recorded = self._replay.popleft()
            return PendingTrain(recorded.number, recorded.boundary, recorded.arrived)
        if self._ended:
            return None
        cut = self._next(now)
        if cut is not None:
            journal.record_train(self.key, cut.number, cut.boundary, cut.arrived)
        return cut

    def _next(self, now: float) -> PendingTrain | None:
        """Return what the source offers, or a sign: its end, or that it has long been silent."""
        silent = self._is_silent(now)
        sign = self._by_clock(now) if silent else IDLE_BOUNDARY
        try:
            self._open_if_closed()
            offer = self.interface.next()
            self.recovered()
        except PenstockError:
            if silent:  # one that cannot be read keeps nobody waiting either
                return PendingTrain(self.number + 1, sign, now)
            raise
        if offer is not None:
            self._heard = now
            return PendingTrain(self.number + 1, offer.boundary, offer.arrived or now)
        if self.interface.ended:
            return PendingTrain(self.number + 1, END_BOUNDARY, 0.0)
        return PendingTrain(self.number + 1, sign, now) if silent else None

    def _open_if_closed(self) -> None:
        if not self._is_open:
            self.open()

    def _is_silent(self, now: float) -> bool:
        """Say whether nothing came for so long that others shall not wait, and do not know yet."""
        if self._heard is None:
            self._heard = now
        limit = self.definition.idle_after
        if limit is None or self.idle or now - self._heard < limit.total_seconds():
            return False
        return not self._has_clock or now - max(self._ticked, self._heard) >= CLOCK_SECONDS

    @property
    def _has_clock(self) -> bool:
        """Say whether time goes on while nothing comes: it has to have begun."""
        return self.definition.idle_by_clock and self.high is not None

    def _by_clock(self, now: float) -> Boundary:
        """Return the sign of a silent stream: idle, or as far as time has gone on since."""
        if not self._has_clock or self.high is None or self._heard is None:
            return IDLE_BOUNDARY
        self._ticked = now
        return {CLOCK: self.disorder.mark(self.high) + round((now - self._heard) * 1e6)}

    def punctuate(self, condition: str, journal: Journal, now: float) -> bool:
        """Record that no tuple will come any more for which the condition holds; while quiesced.

        What waits at the source now comes before it. False where the stream has ended.
        """
        if self._ended or any(each.boundary == END_BOUNDARY for each in self._replay):
            return False
        for _ in range(TAKEN_BEFORE):
            if (offer := self.interface.next()) is None:
                break
            self._heard = now
            self._queue(offer.boundary, offer.arrived, journal)
        self._queue({PUNCTUATION: condition}, now, journal)
        return True

    def _queue(self, boundary: Boundary, arrived: float, journal: Journal) -> None:
        """Record a train that will be read when its turn comes."""
        last = self._replay[-1].number if self._replay else None
        if last is None:
            last = self._again.number if self._again is not None else self.number
        journal.record_train(self.key, last + 1, boundary, arrived)
        self._replay.append(RecordedTrain(self.key, last + 1, boundary, arrived))

    def put_back(self, cut: PendingTrain) -> None:
        """Offer a train again that could not be read."""
        self._again = cut

    def read(self, cut: PendingTrain, now: float) -> Train:
        """Return the train's rows; rows that do not fit are kept aside as rejects."""
        if _is_sign(cut.boundary):
            return self._train(cut, in_memory(empty_table(self.definition.schema)), None, now)
        ingest = self.interface.read(cut.boundary)
        rejects = [ingest.rejects] if ingest.rejects is not None else []
        read = self._stamped(ingest.rows, cut) if self.definition.by_arrival else ingest.rows
        if isinstance(read, pa.Table):
            rows, span = self._timed(read, rejects)
        else:
            rows, span = self._timed_files(read, rejects)
        self._keep_rejects(cut.number, rejects)
        if span is not None:
            self.disorder.take(rows, self.scan.times[0].column, cut.arrived)  # as it was recorded
        return self._train(cut, rows, span, now, ingest.parts)

    def _now(self) -> SourceRecord:
        measured = slack_to_json(self.disorder.measured) if self.disorder.is_measured else None
        return SourceRecord(
            self.number,
            self.boundary,
            self.watermark,
            self.high,
            self.rows,
            self.rejected,
            self._ended,
            self.idle,
            measured,
            dict(self.parts) or None,
        )

    def _train(
        self,
        cut: PendingTrain,
        rows: Rows,
        span: tuple[int, int] | None,
        now: float,
        parts: Parts | None = None,
    ) -> Train:
        self.number = cut.number
        self.rows += rows.count
        if span is not None:
            self.high = span[1] if self.high is None else max(self.high, span[1])
            high = self.high if parts is None else self._slowest(parts)
            if high is not None:
                self.watermark = max(self.watermark, self.disorder.mark(high))
        self.watermark = max(self.watermark, cut.boundary.get(CLOCK, self.watermark))
        if cut.boundary == END_BOUNDARY:
            self.watermark, self._ended = END_OF_TIME, True
        if not _is_sign(cut.boundary):  # after a sign the source stands behind its last train
            self.boundary = cut.boundary
        if rows.count or cut.boundary in (IDLE_BOUNDARY, END_BOUNDARY):
            self.idle = cut.boundary == IDLE_BOUNDARY
        self._history[cut.number] = self._now()
        first, last = span or (None, None)
        info = TrainInfo(
            cut.number,
            rows.count,
            rows.memory_bytes,
            cut.arrived or now,
            first,
            last,
            self.watermark,
            self.idle,
            cut.boundary.get(PUNCTUATION, ""),
            deadline_of(first, self.definition.valid_for),
            int(cut.boundary.get("depth", 0)),
        )
        return Train(info, rows)

    def _slowest(self, parts: Parts) -> int | None:
        """Return how far the slowest part has come that is waited for; None where it has not."""
        for name, high in parts.highs.items():
            self.parts[name] = max(high, self.parts.get(name, high))
        if any(name not in self.parts for name in parts.live):
            return None
        return min((self.parts[name] for name in parts.live), default=self.high)

    def _stamped(self, rows: pa.Table | Sequence[Path], cut: PendingTrain) -> pa.Table:
        """Return a train's rows with the time of its arrival, as it was recorded when it was cut.

        It never goes back, whatever clocks do, so that no tuple is late.
        """
        if not isinstance(rows, pa.Table):
            rows = in_files(rows, owned=False).to_table(self.definition.as_read.schema)
        at = max(round(cut.arrived * 1e6), self.high or 0)
        stamp = pa.repeat(pa.scalar(at, pa.timestamp("us", "UTC")), rows.num_rows)
        return rows.append_column(self.scan.times[0].column, stamp)

    def _timed(
        self, table: pa.Table, rejects: list[pa.Table]
    ) -> tuple[Rows, tuple[int, int] | None]:
        if not self.scan.times:
            return in_memory(table), None
        time = self.scan.times[0].column
        table, missing = without_timeless(table, time)
        if missing is not None:
            rejects.append(missing)
        return in_memory(table), span_of(table, time)

    def _timed_files(
        self, paths: Sequence[Path], rejects: list[pa.Table]
    ) -> tuple[Rows, tuple[int, int] | None]:
        rows = in_files(paths, owned=False)
        if not self.scan.times or not rows.count:
            return rows, None
        span = footer_span(paths, self.scan.times[0].column)
        if span is None:
            return self._timed(rows.to_table(self.definition.schema), rejects)
        return rows, span

    def _keep_rejects(self, number: int, rejects: list[pa.Table]) -> None:
        if rejects:
            table = pa.concat_tables(rejects)
            # Named by the train, so that reading it again after a crash writes the same file.
            write_parquet_at(table, self.rejects / f"train-{number:010d}.parquet")
            self.rejected += table.num_rows


def _is_sign(boundary: Boundary) -> bool:
    """Say whether a boundary is ours and not the source's: it has no rows."""
    return boundary in (END_BOUNDARY, IDLE_BOUNDARY) or boundary.keys() in SIGNS
