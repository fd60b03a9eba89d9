import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.interfaces.interface import Boundary, Surroundings
from penstock.engine.interfaces.pushed.push import Push
from penstock.errors import BadOptionError, BadRowError, SourceError, UnknownOptionError
from penstock.model.definitions import Connector, Option, StreamDefinition
from penstock.model.schema import Column, Schema

pytestmark = pytest.mark.spark

SCHEMA = Schema((Column("ts", "timestamp"), Column("id", "string"), Column("mph", "int")))
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
Make = Callable[..., Push]


def defined(**options: Option) -> StreamDefinition:
    return StreamDefinition("s", SCHEMA, Connector("push", tuple(options.items())), "ts")


@pytest.fixture
def make(tmp_path: Path, spark: SparkSession) -> Make:
    """Make open push interfaces on one home."""

    def made(after: Boundary | None = None, **options: Option) -> Push:
        push = Push(defined(**options), Surroundings(spark, HandClock(7.0), tmp_path / "home"))
        push.open(after)
        return push

    return made


def row(mph: int) -> dict[str, object]:
    return {"ts": NOON, "id": f"car{mph}", "mph": mph}


def waiting(push: Push) -> list[list[int]]:
    """Return the mph of every train that waits."""
    tables = [push.read(offer.boundary).rows for offer in iter(push.next, None)]
    return [table["mph"].to_pylist() for table in tables if isinstance(table, pa.Table)]


def test_positions_count_the_tuples(make: Make) -> None:
    push = make()
    assert push.push([row(1), row(2)]) == 2
    assert push.push(pa.table({"ts": [NOON], "mph": [3]})) == 3
    assert push.push([]) == 3
    offer = push.next()
    assert offer is not None
    assert offer.arrived == 7.0
    assert waiting(push) == []


def test_records_are_joined_into_trains_of_bounded_size(make: Make) -> None:
    push = make(rows_per_train=3)
    for rows in ([1], [2], [3], [4, 5, 6, 7], [8]):
        push.push([row(mph) for mph in rows])
    assert waiting(push) == [[1, 2, 3], [4, 5, 6, 7], [8]]


def test_what_was_acknowledged_survives_without_a_close(make: Make) -> None:
    make().push([row(1)])
    push = make()
    assert push.push([row(2)]) == 2
    assert waiting(push) == [[1, 2]]


@pytest.mark.parametrize("sync", [False, True])
def test_what_was_acknowledged_survives_a_kill(make: Make, tmp_path: Path, sync: bool) -> None:
    writer = f"""
import os, signal
import pyarrow as pa
from pathlib import Path
from penstock.engine.interfaces.pushed.push_log import Log
schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("id", "string"), ("mph", "int32")])
log = Log(Path({str(tmp_path / "home")!r}), schema, sync={sync})
for n in range(100):
    log.append([pa.record_batch([[0], ["x"], [n]], schema)], 0.0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    (tmp_path / "home").mkdir()
    done = subprocess.run([sys.executable, "-c", writer], check=False)
    assert done.returncode == -9
    assert waiting(make()) == [list(range(100))]


def test_a_bad_row_is_named_and_nothing_is_appended(make: Make) -> None:
    push = make()
    push.push([row(1)])
    for rows in (
        [row(2), {"ts": NOON, "mph": "fast"}],
        [row(2), {"ts": NOON, "speed": 3}],
        [row(2), {"id": "car"}],
        pa.table({"ts": [NOON, NOON], "mph": [1, 2**40]}),
    ):
        with pytest.raises(BadRowError, match=r"row 1, column (mph|speed|ts)") as raised:
            push.push(rows)
        assert raised.value.code == "BAD_ROW"
    assert waiting(push) == [[1]]
    assert push.push([]) == 1


def test_the_end_comes_when_all_is_drained_and_is_for_good(make: Make) -> None:
    push = make()
    push.push([row(1)])
    push.end()
    assert not push.bounded
    assert not push.ended
    assert waiting(push) == [[1]]
    assert push.ended
    with pytest.raises(BadRowError):
        push.push([row(2)])
    again = make()
    assert not again.ended
    assert waiting(again) == [[1]]
    assert again.ended


def test_many_threads_push_and_every_append_wakes(
    make: Make, spark: SparkSession, tmp_path: Path
) -> None:
    home, calls = tmp_path / "home", list[int]()
    push = Push(defined(), Surroundings(spark, HandClock(7.0), home), segment_bytes=5_000)
    push.open(None)
    push.on_arrival = lambda: calls.append(1)
    threads = [
        threading.Thread(target=lambda k=k: [push.push([row(100 * k + n)]) for n in range(25)])
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    trains, last = [], None
    while sum(map(len, trains)) < 100:
        if (offer := push.next()) is not None:
            table = push.read(offer.boundary).rows
            assert isinstance(table, pa.Table)
            trains.append(table["mph"].to_pylist())
            push.commit(offer.boundary)
            last = offer.boundary
    for thread in threads:
        thread.join()
    got = list(chain.from_iterable(trains))
    assert sorted(got) == sorted(100 * k + n for k in range(4) for n in range(25))
    assert [mph for mph in got if mph < 100] == list(range(25))
    assert len(calls) == 100
    assert min(home.glob("*.log")).stem > "0" * 20  # segments were begun, and given up
    assert waiting(make(last)) == []


def test_pushing_to_a_closed_stream_is_an_error(make: Make) -> None:
    push = make()
    push.close()
    with pytest.raises(SourceError) as raised:
        push.push([row(1)])
    assert raised.value.code == "SOURCE_FAILED"


def test_wrong_options_are_told_without_spark() -> None:
    with pytest.raises(BadOptionError):
        Push.check(defined(sync="yes"))
    with pytest.raises(UnknownOptionError):
        Push.check(defined(fsync=True))
