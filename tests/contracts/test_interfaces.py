"""The laws of interface.py, over every interface."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.interfaces import INTERFACES, build, check
from penstock.engine.interfaces.interface import Boundary, Interface, Surroundings
from penstock.engine.interfaces.push import Push
from penstock.engine.interfaces.rejects import REJECTS
from penstock.engine.types import arrow_schema
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import Connector, Expression, Option, StreamDefinition
from penstock.model.schema import Column, Schema

pytestmark = pytest.mark.spark

SCHEMA = Schema((Column("ts", "timestamp"), Column("id", "string"), Column("mph", "int")))
START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = [
    {"ts": START + timedelta(seconds=at), "id": f"car{at}", "mph": 30 + at} for at in range(12)
]


@dataclass(frozen=True)
class Case:
    """A source of the twelve rows (or of twelve others) that ends by itself."""

    connector: Callable[[Path], Connector]
    feed: Callable[[Interface], None] = lambda _: None


def connector(name: str, **options: Option) -> Connector:
    return Connector(name, tuple(options.items()))


def json_files(place: Path) -> str:
    place.mkdir(exist_ok=True)
    for at in range(4):
        rows = [{**row, "ts": str(row["ts"])} for row in ROWS[3 * at : 3 * at + 3]]
        (place / f"{at}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(place)


def parquet_files(place: Path) -> str:
    place.mkdir(exist_ok=True)
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("id", "string"), ("mph", "int32")])
    for at in range(4):
        table = pa.Table.from_pylist(ROWS[3 * at : 3 * at + 3], schema=schema)
        pq.write_table(table, place / f"{at}.parquet", row_group_size=2)
    return str(place)


def push_all(interface: Interface) -> None:
    assert isinstance(interface, Push)
    for at in range(0, 12, 3):
        interface.push(ROWS[at : at + 3])
    interface.end()


def json_source(name: str, **options: Option) -> Case:
    return Case(
        lambda home: connector(name, path=json_files(home / "in"), format="json", **options)
    )


def parquet_source(name: str, **options: Option) -> Case:
    return Case(
        lambda home: connector(name, path=parquet_files(home / "in"), format="parquet", **options)
    )


GENERATED: dict[str, Option] = {
    "rows": 12,
    "id": Expression("concat('car', n)"),
    "mph": Expression("30 + n"),
    "rows_per_train": 5,
}
CASES = {
    "files-by-file": json_source("files", bounded=True, files_per_train=1),
    "files-by-rows": json_source("files", bounded=True, rows_per_train=2),
    "files-in-place": parquet_source("files", bounded=True, files_per_train=2),
    "files-by-parquet-rows": parquet_source("files", bounded=True, rows_per_train=2),
    "generator": Case(lambda _: connector("generator", paced=False, **GENERATED)),
    "generator-paced": Case(
        lambda _: connector("generator", profile="poisson", rate=4, **GENERATED)
    ),
    "replay": json_source("replay", rows_per_train=5),
    "replay-at-once": parquet_source("replay", rows_per_train=5, speed=0),
    "push": Case(lambda _: connector("push", rows_per_train=3), push_all),
    "spark": json_source("spark", bounded=True, maxfilespertrigger=2),
}


@dataclass
class Source:
    """One case at work: fresh interfaces on the same home, as after a restart."""

    definition: StreamDefinition
    around: Surroundings
    opened: list[Interface]

    def fresh(self, after: Boundary | None = None) -> Interface:
        interface = build(self.definition, self.around)
        interface.open(after)
        self.opened.append(interface)
        return interface

    def drain(self, interface: Interface) -> list[Boundary]:
        """Take everything until the end, moving the clock and waiting for inner queries."""
        boundaries: list[Boundary] = []
        give_up = time.monotonic() + 60
        while not interface.ended:
            assert time.monotonic() < give_up
            offer = interface.next()
            if offer is not None:
                boundaries.append(json.loads(json.dumps(offer.boundary)))
                continue
            self.around.clock.sleep(0.5)
            if self.definition.source.name == "spark":
                time.sleep(0.05)
        assert interface.next() is None
        return boundaries

    def rows(self, interface: Interface, boundaries: list[Boundary]) -> list[object]:
        return [row for boundary in boundaries for row in self.table(interface, boundary)]

    def table(self, interface: Interface, boundary: Boundary) -> list[object]:
        ingest = interface.read(boundary)
        schema = arrow_schema(self.definition.schema)
        assert ingest.rejects is None or ingest.rejects.schema == REJECTS
        if isinstance(ingest.rows, tuple):
            return [row for path in ingest.rows for row in pq.read_table(path).to_pylist()]
        assert ingest.rows.schema == schema
        return list(ingest.rows.to_pylist())


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def source(case: Case, tmp_path: Path, spark: SparkSession) -> Iterator[Source]:
    definition = StreamDefinition("s", SCHEMA, case.connector(tmp_path), time_column="ts")
    check(definition)
    clock = HandClock(START.timestamp())
    made = Source(definition, Surroundings(spark, clock, tmp_path / "home"), [])
    yield made
    for interface in made.opened:
        interface.close()


def test_every_interface_has_a_case() -> None:
    assert {case.split("-")[0] for case in CASES} == set(INTERFACES)


def test_a_boundary_gives_the_same_rows_again_and_after_a_restart(
    source: Source, case: Case
) -> None:
    first = source.fresh()
    case.feed(first)
    boundaries = source.drain(first)
    rows = [source.table(first, boundary) for boundary in boundaries]
    assert sum(map(len, rows)) == 12
    assert [source.table(first, boundary) for boundary in reversed(boundaries)] == rows[::-1]
    first.close()
    second = source.fresh(boundaries[-1])
    assert [source.table(second, boundary) for boundary in boundaries] == rows
    assert second.next() is None
    assert second.ended


def test_after_any_boundary_a_fresh_interface_gives_exactly_the_rest(
    source: Source, case: Case
) -> None:
    first = source.fresh()
    case.feed(first)
    boundaries = source.drain(first)
    rows = [source.table(first, boundary) for boundary in boundaries]
    assert len(boundaries) > 1
    first.close()
    for at, boundary in enumerate(boundaries):
        second = source.fresh(boundary)
        assert source.rows(second, source.drain(second)) == sum(rows[at + 1 :], [])
        second.close()
    again = source.fresh()
    assert source.rows(again, source.drain(again)) == sum(rows, [])


def test_a_restart_in_the_middle_loses_and_repeats_nothing(source: Source, case: Case) -> None:
    first = source.fresh()
    case.feed(first)
    offer = None
    while offer is None:
        source.around.clock.sleep(0.5)
        offer = first.next()
        time.sleep(0.01)
    rows = source.table(first, offer.boundary)
    first.close()
    second = source.fresh(offer.boundary)
    boundaries = source.drain(second)
    assert len(rows + source.rows(second, boundaries)) == 12
    assert source.table(second, offer.boundary) == rows


def test_what_is_not_committed_stays_readable(source: Source, case: Case) -> None:
    first = source.fresh()
    case.feed(first)
    boundaries = source.drain(first)
    rows = [source.table(first, boundary) for boundary in boundaries]
    for at, boundary in enumerate(boundaries):
        first.commit(boundary)
        assert [source.table(first, later) for later in boundaries[at + 1 :]] == rows[at + 1 :]
    first.close()
    second = source.fresh(boundaries[-1])
    second.commit(boundaries[-1])
    assert second.next() is None
    assert second.ended


def test_closing_twice_or_unopened_is_nothing(source: Source) -> None:
    build(source.definition, source.around).close()
    interface = source.fresh()
    interface.close()
    interface.close()


def test_offering_runs_no_spark_job(source: Source, case: Case, spark: SparkSession) -> None:
    if source.definition.source.name == "spark":
        pytest.skip("its inner query runs jobs of its own")
    interface = source.fresh()
    case.feed(interface)
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    source.drain(interface)
    assert scheduler.numTotalJobs() == before


def test_an_unknown_interface_is_named_with_its_near_miss() -> None:
    with pytest.raises(UnknownConnectorError) as raised:
        check(StreamDefinition("s", SCHEMA, connector("file")))
    assert raised.value.code == "UNKNOWN_CONNECTOR"
    assert "files" in raised.value.hint
