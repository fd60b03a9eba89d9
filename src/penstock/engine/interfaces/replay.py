"""`replay`: a recording played at its own timestamps (GSDM's player).

The recording is read once, sorted by event time, and kept in the home (recording.py); from then
on the user's files are not looked at. A boundary is `{from, to}`, row numbers in that order.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.interfaces.durable import make_home, read_json, write_json
from penstock.engine.interfaces.files import reader_of, require_local
from penstock.engine.interfaces.formats.listing import require
from penstock.engine.interfaces.formats.reader import FORMAT_OPTIONS, FileFormat
from penstock.engine.interfaces.frames import sweep
from penstock.engine.interfaces.interface import Boundary, Ingest, Offer, Surroundings
from penstock.engine.interfaces.recorder import Recording, kept_recording, make_recording
from penstock.engine.interfaces.rejects import event_time
from penstock.engine.options import Declared, number, one_of, read_options, whole
from penstock.engine.trains.types import arrow_schema
from penstock.errors import BadOptionError
from penstock.model.definitions import StreamDefinition

SECOND = 1_000_000  # microseconds

OPTIONS = {
    **FORMAT_OPTIONS,
    # Lines of text have no time of their own.
    "format": Declared(one_of("json", "csv", "parquet"), required=True, about="of the files"),
    "rows_per_train": Declared(whole(), default=10_000, about="most rows in a train"),
    "speed": Declared(
        number(least=0, most=1e6, words="a factor, zero or above"),
        default=1.0,
        about="seconds of the recording that pass in one; 0 is at once",
    ),
}


class Replay:
    """One recorded stream."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        """Keep the options; the recording is read when it is opened."""
        options = options_of(definition)
        whole_files = FileFormat.of(options | {"rows_per_train": None})
        self._stream = definition
        self._time = str(event_time(definition))
        self._path: str = options["path"]
        self._speed: float = options["speed"]
        self._rows_per_train: int = options["rows_per_train"]
        self._reader = reader_of(definition, whole_files, around)
        self._around = around
        self._recording: Recording | None = None
        self._origin: int | None = None
        self._begin = 0
        self._position, self._started = 0, False
        self._held: tuple[int, int, NDArray[np.int64]] | None = None

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        options_of(definition)

    @property
    def bounded(self) -> bool:
        return True

    @property
    def is_paced(self) -> bool:
        return self._speed > 0

    @property
    def ended(self) -> bool:
        recording = self._recording
        return recording is not None and self._started and self._position >= recording.rows

    def open(self, after: Boundary | None) -> None:
        make_home(self._around.home)
        sweep(self._around)
        recording = kept_recording(self._around) or self._make()
        self._recording, self._held = recording, None
        self._position = 0 if after is None else int(after["to"])
        # Rejects go with the first train; where nothing else is left, that train is empty.
        self._started = after is not None or bool(recording.rows) or recording.rejects is None
        self._begin = int(self._times(0)[2][0]) if recording.rows else 0

    def next(self) -> Offer | None:
        first, last = self._position, self._limit()
        if last <= first and self._started:
            return None
        offer = Offer({"from": first, "to": last}, self._arrived(first))
        self._position, self._started = last, True
        return offer

    def read(self, boundary: Boundary) -> Ingest:
        first, last = int(boundary["from"]), int(boundary["to"])
        recording = self._recorded()
        rejects = recording.rejects if first == 0 else None
        schema = arrow_schema(self._stream.schema)
        rows = recording.read(first, last, schema) if last > first else schema.empty_table()
        return Ingest(rows, rejects)

    def commit(self, boundary: Boundary) -> None:
        """Keep the recording: its end is needed until the stream is dropped."""

    def close(self) -> None:
        self._recording = None
        self._held = None

    def _recorded(self) -> Recording:
        if self._recording is None:
            raise RuntimeError("replay: next or read before open")
        return self._recording

    def _make(self) -> Recording:
        self._around.allowed().require_readable(self._path)
        require(self._path)
        self._reader.open()
        return make_recording(self._path, self._reader, self._time, self._around)

    def _limit(self) -> int:
        """Return the number past the last row that may be offered now; no train spans groups."""
        if self._position >= self._recorded().rows:
            return self._position
        start, end, times = self._times(self._position)
        most = min(self._position + self._rows_per_train, end)
        if not self._speed:
            return most
        played = (self._around.clock.now() * SECOND - self._first_asked()) * self._speed
        return min(most, start + int(np.searchsorted(times, self._begin + played, side="right")))

    def _arrived(self, first: int) -> float:
        if not self._speed or first >= self._recorded().rows:
            return self._around.clock.now()
        start, _, times = self._times(first)
        played = float(times[first - start] - self._begin) / self._speed
        return (self._first_asked() + played) / SECOND

    def _times(self, row: int) -> tuple[int, int, NDArray[np.int64]]:
        """Return the bounds of a row's group, and its event times."""
        held = self._held
        if held is None or not held[0] <= row < held[1]:
            start, end = self._recorded().group(row)
            held = (start, end, self._recorded().times(start, end, self._time))
            self._held = held
        return held

    def _first_asked(self) -> int:
        """Return when rows were first asked for: a restart goes on in the same time line."""
        if self._origin is None:
            self._origin = self._kept_origin()
        return self._origin

    def _kept_origin(self) -> int:
        kept = self._around.home / "origin.json"
        origin = read_json(kept)
        if origin is None:
            origin = int(self._around.clock.now() * SECOND)
            write_json(kept, origin)
        return int(origin)


def options_of(definition: StreamDefinition) -> dict[str, Any]:
    """Return the checked options."""
    options = read_options(definition.source, OPTIONS)
    require_local(options["path"])
    if event_time(definition) is None:
        raise BadOptionError(
            f"replay needs to know the time column of {definition.name}",
            hint="add TIMESTAMP BY to the stream",
        )
    return options
