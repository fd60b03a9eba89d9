"""kafka(servers => …, topic => …, format => …): topics, exactly once by their offsets.

A boundary is what `offsets.py` says: for each partition the offsets of its records in the train.
This module needs no driver: `feed.py` and others, which do, are loaded when the source opens.
"""

import json
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.clients.kafka.place import PLACE_OPTIONS, KafkaPlace
from penstock.engine.interfaces.durable import make_home
from penstock.engine.interfaces.interface import Boundary, Ingest, Offer, Surroundings
from penstock.engine.interfaces.kafka.layout import BESIDE_OPTIONS, Layout
from penstock.engine.interfaces.kafka.offsets import TrainRuns
from penstock.engine.interfaces.kafka.values import VALUE_OPTIONS, ValueFormat
from penstock.engine.interfaces.rejects import event_time
from penstock.engine.options import Declared, Kind, flag, moment, one_of, read_options, text, whole
from penstock.errors import BadOptionError, SourceError
from penstock.model.definitions import Option, StreamDefinition

EDGES = ("earliest", "latest")


def _start(value: Option) -> str | datetime:
    if isinstance(value, str) and value.lower() in EDGES:
        return value.lower()
    try:
        return moment(value)  # type: ignore[no-any-return]  # of its kind
    except ValueError:
        raise ValueError(
            "must be 'earliest', 'latest' or a timestamp, such as TIMESTAMP '2026-01-01 00:00:00'"
        ) from None


def _pattern(value: Option) -> str:
    try:
        pc.match_substring_regex(pa.array([""]), str(text(value)))
    except pa.ArrowInvalid as error:
        raise ValueError("must be a regular expression of RE2") from error
    return str(value)


OPTIONS = {
    **PLACE_OPTIONS,
    "topic": Declared(text, about="the topic, or several with commas between"),
    "pattern": Declared(
        Kind("regular expression", _pattern),
        about="a regular expression that the topics' whole names match",
    ),
    **VALUE_OPTIONS,
    "start": Declared(
        Kind("'earliest', 'latest' or timestamp", _start),
        default="earliest",
        about="where partitions begin that were never read",
    ),
    "bounded": Declared(flag, default=False, about="take what is there, then end"),
    "isolation": Declared(
        one_of("read_committed", "read_uncommitted"),
        default="read_committed",
        about="whether records of transactions wait for their end",
    ),
    "tombstones": Declared(
        one_of("row", "skip"),
        default="row",
        about="a record without a value is a row whose columns of the value are NULL, or none",
    ),
    **BESIDE_OPTIONS,
    "rows_per_train": Declared(whole(), default=100_000, about="most rows in a train"),
}


class Kafka:
    """One stream of the records of topics."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        """Keep the options; `on_arrival` is called by a thread when something came."""
        self.on_arrival: Callable[[], None] | None = None
        self._options = options_of(definition)
        self._place = KafkaPlace.of(self._options)
        self._stream, self._around = definition, around
        self._feed: Any = None
        self._reader: Any = None
        self._at_hand: tuple[str, Any] | None = None  # what was offered last, and not read yet

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        options_of(definition)

    @property
    def bounded(self) -> bool:
        return bool(self._options["bounded"])

    @property
    def ended(self) -> bool:
        return self._feed is not None and bool(self._feed.ended)

    def open(self, after: Boundary | None) -> None:
        self.close()
        self._place.require_allowed(self._around.allowed())
        values = ValueFormat.of(self._options)
        values.require_allowed(self._around.allowed())
        make_home(self._around.home)
        layout = Layout.of(self._stream, self._options)
        decoder = values.decoder(self._stream, layout.values, self._around)
        decoder.open()
        records = import_module("penstock.engine.interfaces.kafka.records")
        self._reader = records.RecordReader(
            layout, decoder, event_time(self._stream), self._options["tombstones"] == "skip"
        )
        self._feed = self._feed_after(TrainRuns({}) if after is None else TrainRuns.of(after))
        self._feed.start()

    def _feed_after(self, runs: TrainRuns) -> Any:
        feed = import_module("penstock.engine.interfaces.kafka.feed")
        subject = import_module("penstock.engine.interfaces.kafka.subject")
        options, idle = self._options, self._stream.idle_after
        plan = feed.FeedPlan(
            self._place,
            subject.Subject(_topics(options), options["pattern"], options["start"], self.bounded),
            options["isolation"],
            None if idle is None else idle.total_seconds(),
            self._around.clock,
            options["rows_per_train"],
        )
        beginnings = subject.Beginnings(self._around.home / "beginnings.json")
        return feed.PartitionFeed(plan, beginnings, runs.positions, self._tell)

    def next(self) -> Offer | None:
        taken = self._opened().take()
        if taken is None:
            return None
        boundary = taken.runs.boundary()
        self._at_hand = _named(boundary), taken.records
        return Offer(boundary, taken.arrived)

    def read(self, boundary: Boundary) -> Ingest:
        self._opened()
        runs, at_hand = TrainRuns.of(boundary), self._at_hand
        if at_hand is not None and at_hand[0] == _named(boundary):
            records = at_hand[1]
        else:
            again = import_module("penstock.engine.interfaces.kafka.again")
            isolation, clock = self._options["isolation"], self._around.clock
            records = again.read_again(self._place, isolation, runs, clock)
        ingest: Ingest = self._reader.read(records, runs)
        if at_hand is self._at_hand:
            self._at_hand = None
        return ingest

    def commit(self, boundary: Boundary) -> None:
        """Keep the records: they are the broker's."""

    def close(self) -> None:
        if self._feed is not None:
            self._feed.close()
        self._feed = self._reader = self._at_hand = None

    def _tell(self) -> None:
        if self.on_arrival is not None:
            self.on_arrival()

    def _opened(self) -> Any:
        if self._feed is None:
            raise SourceError(f"{self._stream.name} is not open", hint="is its system running?")
        return self._feed


def options_of(definition: StreamDefinition) -> dict[str, Any]:
    """Return the checked options."""
    options = read_options(definition.source, OPTIONS)
    if (options["topic"] is None) == (options["pattern"] is None):
        raise BadOptionError(
            "kafka needs topic or pattern, and not both",
            hint="topic => 'cars', or pattern => 'cars-.*'",
        )
    KafkaPlace.of(options)
    event_time(definition)
    ValueFormat.of(options).require_columns(Layout.of(definition, options).values)
    return options


def _topics(options: dict[str, Any]) -> tuple[str, ...]:
    given = options["topic"] or ""
    return tuple(name.strip() for name in given.split(",") if name.strip())


def _named(boundary: Boundary) -> str:
    """Return a text that two boundaries share that are the same."""
    return json.dumps(boundary, sort_keys=True)
