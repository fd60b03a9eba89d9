import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.interfaces import recorder
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.replay import Replay
from penstock.errors import BadOptionError, SourceError
from penstock.model.definitions import Connector, Option, StreamDefinition
from penstock.model.schema import Column, Schema

pytestmark = pytest.mark.spark

SCHEMA = Schema((Column("ts", "timestamp"), Column("id", "int")))
THEN = datetime(2001, 1, 1, tzinfo=UTC)
NOW = 1_700_000_000.0
Make = Callable[..., Replay]


def defined(path: Path, time: str | None = "ts", **options: Option) -> StreamDefinition:
    connector = Connector("replay", (("path", str(path)), *options.items()))
    return StreamDefinition("s", SCHEMA, connector, time)


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOW)


@pytest.fixture
def make(tmp_path: Path, spark: SparkSession, clock: HandClock) -> Make:
    """Make unopened replays on one home."""

    def made(path: Path, **options: Option) -> Replay:
        return Replay(defined(path, **options), Surroundings(spark, clock, tmp_path / "home"))

    return made


def record(path: Path, seconds: list[float]) -> Path:
    """Write one JSON line for each time after THEN; ids are their places."""
    lines = [
        json.dumps({"ts": str(THEN + timedelta(seconds=second)), "id": at})
        for at, second in enumerate(seconds)
    ]
    path.write_text("\n".join(lines))
    return path


def due(replay: Replay) -> list[list[int]]:
    """Return the ids of every train that is due."""
    tables = [replay.read(offer.boundary).rows for offer in iter(replay.next, None)]
    return [table["id"].to_pylist() for table in tables if isinstance(table, pa.Table)]


def test_tuples_come_at_their_own_times_in_their_order(
    make: Make, tmp_path: Path, clock: HandClock
) -> None:
    path = record(tmp_path / "in.json", [0.0, 30.0, 10.0, 20.0, 10.0])
    replay = make(path, format="json", speed=2)
    replay.open(None)
    path.unlink()
    assert due(replay) == [[0]]
    clock.sleep(5.0)
    assert due(replay) == [[2, 4]]
    clock.sleep(4.9)
    assert due(replay) == []
    clock.sleep(100.0)
    last = replay.next()
    assert last is not None
    assert last.arrived == NOW + 10
    assert last.boundary == {"from": 3, "to": 5}
    assert replay.ended


def test_a_restart_goes_on_in_the_same_time_line(
    make: Make, tmp_path: Path, clock: HandClock
) -> None:
    path = record(tmp_path / "in.json", [0.0, 10.0, 20.0])
    first = make(path, format="json")
    first.open(None)
    assert due(first) == [[0]]
    path.unlink()
    clock.sleep(10.0)
    again = make(path, format="json")
    again.open({"from": 0, "to": 1})
    assert due(again) == [[1]]


def test_time_begins_when_rows_are_first_asked_for(
    make: Make, tmp_path: Path, clock: HandClock
) -> None:
    replay = make(record(tmp_path / "in.json", [0.0, 10.0]), format="json")
    replay.open(None)
    clock.sleep(10.0)
    assert due(replay) == [[0]]


def test_speed_zero_plays_at_once_in_trains_of_bounded_size(make: Make, tmp_path: Path) -> None:
    path = record(tmp_path / "in.json", [float(second) for second in range(7)])
    replay = make(path, format="json", speed=0, rows_per_train=3)
    replay.open(None)
    assert due(replay) == [[0, 1, 2], [3, 4, 5], [6]]


def test_a_recording_in_several_parts_and_groups_is_one(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "PART_BYTES", 40_000)
    monkeypatch.setattr(recorder, "GROUP_BYTES", 20_000)
    count = 20_000
    times = [THEN + timedelta(microseconds=(at * 7919) % count) for at in range(count)]
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("id", pa.int32())])
    table = pa.table(
        [pa.array(times, schema.field("ts").type), pa.array(range(count), "int32")], schema
    )
    pq.write_table(table, tmp_path / "in.parquet")
    replay = make(tmp_path / "in.parquet", format="parquet", speed=0)
    replay.open(None)
    assert len(list((tmp_path / "home" / "recording" / "sorted").glob("*.parquet"))) > 1
    got = list(chain.from_iterable(due(replay)))
    assert got == sorted(range(count), key=lambda at: (times[at], at))


def test_a_recording_that_was_half_written_is_made_again(make: Make, tmp_path: Path) -> None:
    path = record(tmp_path / "in.json", [0.0, 1.0])
    make(path, format="json", speed=0).open(None)
    (part,) = (tmp_path / "home" / "recording" / "sorted").glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-10])
    (tmp_path / "home" / "recording.draft").mkdir()
    again = make(path, format="json", speed=0)
    again.open(None)
    assert due(again) == [[0, 1]]


def test_rejects_come_with_the_first_train_even_if_it_is_empty(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text("oops\n")
    replay = make(path, format="json")
    replay.open(None)
    offer = replay.next()
    assert offer is not None
    ingest = replay.read(offer.boundary)
    assert ingest.rejects is not None
    assert ingest.rejects["raw"].to_pylist() == ["oops"]
    assert replay.next() is None
    assert replay.ended
    again = make(path, format="json")
    again.open(offer.boundary)
    assert again.next() is None


def test_an_empty_directory_ends_at_once(make: Make, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    replay = make(tmp_path / "in", format="json")
    replay.open(None)
    assert replay.next() is None
    assert replay.ended


def test_a_path_that_is_not_there_is_an_error(make: Make, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        make(tmp_path / "gone", format="json").open(None)


def test_a_stream_without_a_time_column_is_refused() -> None:
    with pytest.raises(BadOptionError) as raised:
        Replay.check(defined(Path("x"), None, format="json"))
    assert raised.value.code == "BAD_OPTION"
    with pytest.raises(BadOptionError):
        Replay.check(defined(Path("x"), format="json", speed=-1))
