import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.clock import WallClock
from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.interface import Boundary, Offer, Surroundings
from penstock.engine.interfaces.spark import FAST_CHECKPOINTS, Spark
from penstock.errors import (
    BadOptionError,
    NotAllowedError,
    SourceError,
    TypeMismatchError,
    UnknownColumnError,
)
from penstock.model.definitions import Connector, Option, StreamDefinition
from penstock.model.schema import Column, Schema

pytestmark = pytest.mark.spark

RATE_CLASS = "org.apache.spark.sql.execution.streaming.sources.RateStreamProvider"
RATE = Schema((Column("value", "int"), Column("timestamp", "timestamp")))
Make = Callable[..., Spark]


def defined(schema: Schema, **options: Option) -> StreamDefinition:
    time_column = next((c.name for c in schema if c.type == "timestamp"), None)
    return StreamDefinition("s", schema, Connector("spark", tuple(options.items())), time_column)


@pytest.fixture
def make(tmp_path: Path, spark: SparkSession) -> Make:
    """Make unopened interfaces on one home."""

    def made(schema: Schema = RATE, **options: Option) -> Spark:
        allowed = Allowed(formats=frozenset(["Nothing_Such"]))
        around = Surroundings(spark, WallClock(), tmp_path / "home", lambda: allowed)
        return Spark(defined(schema, **options), around)

    return made


def wait(interface: Spark) -> Offer:
    give_up = time.monotonic() + 600
    while (offer := interface.next()) is None:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    return offer


def values(interface: Spark, boundary: Boundary) -> list[int]:
    paths = interface.read(boundary).rows
    assert isinstance(paths, tuple)
    return sorted(row["value"] for path in paths for row in pq.read_table(path).to_pylist())


def test_a_running_source_goes_on_after_a_restart_without_gap_or_repeat(
    make: Make, tmp_path: Path, spark: SparkSession
) -> None:
    options = {"format": "rate", "rowspersecond": 100, "interval": timedelta(milliseconds=100)}
    began = time.time()
    first = make(**options)
    first.open(None)
    one = wait(first)
    got = values(first, one.boundary)
    first.commit(one.boundary)
    assert not (tmp_path / "home" / "batches" / f"{one.boundary['batch']:012}").exists()
    first.close()
    second = make(**options)
    second.open(one.boundary)
    two = wait(second)
    got += values(second, two.boundary)
    second.close()
    assert got == list(range(len(got)))
    assert two.boundary["batch"] > one.boundary["batch"]
    assert began - 1 < two.arrived <= time.time()  # a file system may round times down
    for name in FAST_CHECKPOINTS:
        assert spark.conf.get(name, None) is None


def test_rows_that_do_not_fit_are_rejects(make: Make, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [
        {"at": "2024-01-01T00:00:00Z", "n": 1},
        {"n": 2},
    ]
    (tmp_path / "in" / "a.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    schema = Schema((Column("at", "timestamp"), Column("n", "int")))
    interface = make(schema, format="json", path=str(tmp_path / "in"), bounded=True)
    interface.open(None)
    ingest = interface.read(wait(interface).boundary)
    assert isinstance(ingest.rows, tuple)
    rows = [row for path in ingest.rows for row in pq.read_table(path).to_pylist()]
    assert [row["n"] for row in rows] == [1]
    assert ingest.rejects is not None
    assert ingest.rejects.to_pylist() == [
        {
            "raw": '{"n":2}',
            "reason": "at: the event time is null",
            "column": "at",
            "kind": "time",
            "value": None,
        }
    ]
    interface.close()


def test_values_are_cast_and_those_that_cannot_be_are_rejects(make: Make, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("1\nmany\n3\n")
    schema = Schema((Column("value", "int"),))
    interface = make(schema, format="text", path=str(tmp_path / "in"), bounded=True)
    interface.open(None)
    offer = wait(interface)
    assert values(interface, offer.boundary) == [1, 3]
    rejects = interface.read(offer.boundary).rejects
    assert rejects is not None
    assert rejects.to_pylist() == [
        {
            "raw": '{"value":"many"}',
            "reason": "value: the value is not INT",
            "column": "value",
            "kind": "type",
            "value": "many",
        }
    ]
    interface.close()


def test_a_source_that_fails_is_told_by_next(make: Make, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.parquet").write_text("no parquet")
    schema = Schema((Column("value", "int"),))
    interface = make(schema, format="parquet", path=str(tmp_path / "in"))
    interface.open(None)
    with pytest.raises(SourceError) as raised:
        wait(interface)
    assert raised.value.code == "SOURCE_FAILED"
    assert "\n" not in raised.value.message
    interface.close()


@pytest.mark.parametrize(
    ("schema", "options", "error"),
    [
        (RATE, {"format": "nothing_such"}, BadOptionError),
        (RATE, {"format": "socket", "host": "localhost", "port": 9}, NotAllowedError),
        (RATE, {"format": RATE_CLASS}, NotAllowedError),
        (RATE, {"format": "rate", "rowspersecond": "many"}, BadOptionError),
        (Schema((Column("speed", "int"),)), {"format": "rate"}, UnknownColumnError),
        (Schema((Column("value", "array<int>"),)), {"format": "rate"}, TypeMismatchError),
    ],
)
def test_what_does_not_fit_is_told_at_open(
    make: Make, schema: Schema, options: dict[str, Option], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make(schema, **options).open(None)


def test_wrong_options_are_told_without_spark() -> None:
    with pytest.raises(BadOptionError):
        Spark.check(defined(RATE))
    with pytest.raises(BadOptionError):
        Spark.check(defined(RATE, format="rate", interval=5))
    Spark.check(defined(RATE, format="rate", start=str(datetime(2024, 1, 1, tzinfo=UTC))))
