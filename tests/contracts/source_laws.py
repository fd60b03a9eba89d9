"""The laws of interface.py as functions: every source must keep them all.

A connector's own tests make a `Source` of a case and go through SOURCE_LAWS.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.allowed import Allowed
from penstock.engine.connectors.sources import build, check
from penstock.engine.interfaces.interface import Boundary, Interface, Surroundings
from penstock.engine.interfaces.rejects import REJECTS
from penstock.engine.trains.types import arrow_schema
from penstock.model.definitions import Connector, Option, StreamDefinition
from penstock.model.schema import Column, Schema

SCHEMA = Schema((Column("ts", "timestamp"), Column("id", "string"), Column("mph", "int")))
START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = [{"ts": START + timedelta(seconds=at), "id": f"car{at}", "mph": 30 + at} for at in range(12)]
NOTHING = Allowed()
PATIENCE = 120.0  # seconds for one train: the machine may be busy


@dataclass(frozen=True)
class Case:
    """A source of the twelve rows, or of twelve others, in more than one train.

    `feed` puts them there where the source does not find them, once it is open. One that does not
    end by itself has no `ends`: it counts as read when twelve rows have come.
    """

    connector: Callable[[Path], Connector]
    feed: Callable[[Interface], None] = lambda _: None
    ends: bool = True
    allowed: Allowed = NOTHING


@dataclass(frozen=True)
class Source:
    """One case at work: fresh interfaces on the same home, as after a restart."""

    case: Case
    definition: StreamDefinition
    around: Surroundings

    @contextmanager
    def fresh(self, after: Boundary | None = None) -> Iterator[Interface]:
        interface = build(self.definition, self.around)
        interface.open(after)
        try:
            yield interface
        finally:
            interface.close()

    def take(self, interface: Interface) -> Boundary | None:
        """Wait for the next train, moving the clock; None at the end."""
        give_up = time.monotonic() + PATIENCE
        while not interface.ended:
            assert time.monotonic() < give_up
            if (offer := interface.next()) is not None:
                boundary: Boundary = json.loads(json.dumps(offer.boundary))
                return boundary
            self.around.clock.sleep(0.5)
            if self.definition.source.name not in ("files", "generator", "replay", "push"):
                time.sleep(0.02)  # for what works beside us
        assert interface.next() is None
        return None

    def drain(self, interface: Interface, rows: int = len(ROWS)) -> list[Boundary]:
        """Take everything, or so many rows of a source that does not end."""
        found: list[Boundary] = []
        while self.case.ends or rows > 0:
            if (boundary := self.take(interface)) is None:
                break
            found.append(boundary)
            rows -= len(self.rows(interface, boundary)) if not self.case.ends else 0
        return found

    def rows(self, interface: Interface, boundary: Boundary) -> list[object]:
        ingest = interface.read(boundary)
        assert ingest.rejects is None or ingest.rejects.schema == REJECTS
        if isinstance(ingest.rows, tuple):
            return [row for path in ingest.rows for row in pq.read_table(path).to_pylist()]
        assert ingest.rows.schema == arrow_schema(self.definition.schema)
        return list(ingest.rows.to_pylist())


@dataclass(frozen=True)
class Drained:
    """A source that was read to its end: its boundaries, what each held, and the jobs it ran."""

    source: Source
    boundaries: list[Boundary]
    rows: list[list[object]]
    jobs: int


def connector(name: str, **options: Option) -> Connector:
    return Connector(name, tuple(options.items()))


def source_of(case: Case, place: Path, spark: SparkSession) -> Source:
    definition = StreamDefinition("s", SCHEMA, case.connector(place), time_column="ts")
    check(definition)
    clock = HandClock(START.timestamp())
    around = Surroundings(spark, clock, place / "home", lambda: case.allowed)
    return Source(case, definition, around)


def drained_of(source: Source, spark: SparkSession) -> Drained:
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    with source.fresh() as interface:
        source.case.feed(interface)
        before = scheduler.numTotalJobs()
        boundaries = source.drain(interface)
        jobs = scheduler.numTotalJobs() - before
        rows = [source.rows(interface, boundary) for boundary in boundaries]
    return Drained(source, boundaries, rows, jobs)


def all_rows_come_in_several_trains(drained: Drained) -> None:
    assert len(drained.boundaries) > 1
    assert sum(map(len, drained.rows)) == len(ROWS)


def nothing_is_offered_twice(drained: Drained) -> None:
    rows = [json.dumps(row, default=str) for train in drained.rows for row in train]
    assert len(set(rows)) == len(rows)


def a_boundary_gives_the_same_rows_after_a_restart(drained: Drained) -> None:
    source = drained.source
    with source.fresh(drained.boundaries[-1]) as interface:
        if source.case.ends:
            assert interface.ended
        assert interface.next() is None
        again = [source.rows(interface, one) for one in reversed(drained.boundaries)]
    assert again == drained.rows[::-1]


def after_any_boundary_exactly_the_rest_is_offered(drained: Drained) -> None:
    source = drained.source
    for at, boundary in enumerate([None, *drained.boundaries]):
        expected = list(chain.from_iterable(drained.rows[at:]))
        with source.fresh(boundary) as interface:
            rest = source.drain(interface, len(expected))
            rows = [row for one in rest for row in source.rows(interface, one)]
            assert interface.next() is None
        assert _bag(rows) == _bag(expected)


def offering_runs_no_spark_job(drained: Drained) -> None:
    assert drained.jobs == 0


def _bag(rows: list[object]) -> list[str]:
    """Return rows whatever their order: trains after a restart may be cut elsewhere."""
    return sorted(json.dumps(row, default=str) for row in rows)


SOURCE_LAWS: tuple[Callable[[Drained], None], ...] = (
    all_rows_come_in_several_trains,
    nothing_is_offered_twice,
    a_boundary_gives_the_same_rows_after_a_restart,
    after_any_boundary_exactly_the_rest_is_offered,
    offering_runs_no_spark_job,
)


def a_restart_and_a_commit_after_every_train_lose_and_repeat_nothing(source: Source) -> None:
    rows: list[object] = []
    after: Boundary | None = None
    with source.fresh() as interface:
        source.case.feed(interface)
    while source.case.ends or len(rows) < len(ROWS):
        with source.fresh(after) as interface:
            if (boundary := source.take(interface)) is None:
                break
            rows += source.rows(interface, boundary)
            interface.commit(boundary)
            after = boundary
    assert len(set(_bag(rows))) == len(rows) == len(ROWS)


def closing_twice_or_unopened_is_nothing(source: Source) -> None:
    interface = build(source.definition, source.around)
    interface.close()
    interface.close()


# These begin with a source of their own, which nobody has read.
FRESH_SOURCE_LAWS: tuple[Callable[[Source], None], ...] = (
    a_restart_and_a_commit_after_every_train_lose_and_repeat_nothing,
    closing_twice_or_unopened_is_nothing,
)
