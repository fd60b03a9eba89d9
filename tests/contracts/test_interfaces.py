"""The laws of interface.py, over every interface."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.interfaces import INTERFACES, build, check
from penstock.engine.interfaces.interface import Boundary, Interface, Surroundings
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.interfaces.rejects import REJECTS
from penstock.engine.trains.types import arrow_schema
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import Connector, Expression, Option, StreamDefinition
from penstock.model.schema import Column, Schema

pytestmark = pytest.mark.spark

SCHEMA = Schema((Column("ts", "timestamp"), Column("id", "string"), Column("mph", "int")))
START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = [{"ts": START + timedelta(seconds=at), "id": f"car{at}", "mph": 30 + at} for at in range(12)]


@dataclass(frozen=True)
class Case:
    """A source of the twelve rows (or of twelve others) that ends by itself."""

    connector: Callable[[Path], Connector]
    source_reader: Callable[[Interface], None] = lambda _: None


def connector(name: str, **options: Option) -> Connector:
    return Connector(name, tuple(options.items()))


def json_files(place: Path) -> str:
    place.mkdir(exist_ok=True)
    for at in range(3):
        rows = [{**row, "ts": str(row["ts"])} for row in ROWS[4 * at : 4 * at + 4]]
        (place / f"{at}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(place)


def parquet_files(place: Path) -> str:
    place.mkdir(exist_ok=True)
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("id", "string"), ("mph", "int32")])
    for at in range(3):
        table = pa.Table.from_pylist(ROWS[4 * at : 4 * at + 4], schema=schema)
        pq.write_table(table, place / f"{at}.parquet", row_group_size=3)
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
    "files-by-rows": json_source("files", bounded=True, rows_per_train=3),
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
        give_up = time.monotonic() + 600
        while not interface.ended:
            assert time.monotonic() < give_up
            if (offer := interface.next()) is not None:
                boundary: Boundary = json.loads(json.dumps(offer.boundary))
                return boundary
            self.around.clock.sleep(0.5)
            if self.definition.source.name == "spark":
                time.sleep(0.05)  # for the inner query
        assert interface.next() is None
        return None

    def drain(self, interface: Interface) -> list[Boundary]:
        return list(iter(lambda: self.take(interface), None))

    def rows(self, interface: Interface, boundary: Boundary) -> list[object]:
        ingest = interface.read(boundary)
        assert ingest.rejects is None or ingest.rejects.schema == REJECTS
        if isinstance(ingest.rows, tuple):
            return [row for path in ingest.rows for row in pq.read_table(path).to_pylist()]
        assert ingest.rows.schema == arrow_schema(self.definition.schema)
        return list(ingest.rows.to_pylist())


@dataclass(frozen=True)
class Drained:
    """A source after its end: its boundaries, what each held, and the jobs that offering ran."""

    source: Source
    boundaries: list[Boundary]
    rows: list[list[object]]
    jobs: int


def source_of(case: Case, place: Path, spark: SparkSession) -> Source:
    definition = StreamDefinition("s", SCHEMA, case.connector(place), time_column="ts")
    check(definition)
    clock = HandClock(START.timestamp())
    return Source(case, definition, Surroundings(spark, clock, place / "home"))


@pytest.fixture(params=CASES)
def source(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> Source:
    return source_of(CASES[request.param], tmp_path, spark)


@pytest.fixture(scope="module", params=CASES)
def drained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> Drained:
    source = source_of(CASES[request.param], tmp_path_factory.mktemp("drained"), spark)
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    with source.fresh() as interface:
        source.case.source_reader(interface)
        before = scheduler.numTotalJobs()
        boundaries = source.drain(interface)
        jobs = scheduler.numTotalJobs() - before
        rows = [source.rows(interface, boundary) for boundary in boundaries]
    return Drained(source, boundaries, rows, jobs)


def test_every_interface_has_a_case() -> None:
    assert {case.split("-")[0] for case in CASES} == set(INTERFACES)


def test_a_bounded_source_gives_all_its_rows_in_several_trains(drained: Drained) -> None:
    assert len(drained.boundaries) > 1
    assert sum(map(len, drained.rows)) == 12


def test_a_boundary_gives_the_same_rows_in_the_same_order_after_a_restart(
    drained: Drained,
) -> None:
    with drained.source.fresh(drained.boundaries[-1]) as interface:
        assert interface.ended
        assert interface.next() is None
        again = [drained.source.rows(interface, one) for one in reversed(drained.boundaries)]
    assert again == drained.rows[::-1]


def test_after_any_boundary_a_fresh_interface_offers_exactly_the_rest(drained: Drained) -> None:
    source = drained.source
    for at, boundary in enumerate([None, *drained.boundaries]):
        with source.fresh(boundary) as interface:
            rest = source.drain(interface)
            rows = [row for one in rest for row in source.rows(interface, one)]
        assert rows == list(chain.from_iterable(drained.rows[at:]))


def test_offering_runs_no_spark_job(drained: Drained) -> None:
    if drained.source.definition.source.name == "spark":
        pytest.skip("its inner query runs jobs of its own")
    assert drained.jobs == 0


def test_a_restart_and_a_commit_after_every_train_lose_and_repeat_nothing(
    source: Source,
) -> None:
    rows: list[object] = []
    after: Boundary | None = None
    with source.fresh() as interface:
        source.case.source_reader(interface)
    while True:
        with source.fresh(after) as interface:
            if (boundary := source.take(interface)) is None:
                break
            rows += source.rows(interface, boundary)
            interface.commit(boundary)
            after = boundary
    assert len({json.dumps(row, default=str) for row in rows}) == len(rows) == 12


def test_closing_twice_or_unopened_is_nothing(source: Source) -> None:
    interface = build(source.definition, source.around)
    interface.close()
    interface.close()


def test_an_unknown_interface_is_named_with_its_near_miss() -> None:
    with pytest.raises(UnknownConnectorError) as raised:
        check(StreamDefinition("s", SCHEMA, connector("file")))
    assert raised.value.code == "UNKNOWN_CONNECTOR"
    assert "files" in raised.value.hint
