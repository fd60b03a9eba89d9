"""What streams are like is told from trains that were looked at, within a share of the time."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from penstock.engine.trains.rows import Rows, in_files, in_memory, write_parquet
from penstock.model.definitions import Connector, StreamDefinition
from penstock.model.schema import Column, Schema
from penstock.runtime.sources import stream_monitor as watching
from penstock.runtime.sources.stream_monitor import FREE_SECONDS, MOST_ROWS, SHARE, Watching

STREAM = StreamDefinition(
    "s",
    Schema((Column("ts", "timestamp"), Column("v", "double"), Column("k", "string"))),
    Connector("twin"),
    "ts",
)


def train(seconds: np.ndarray, keys: np.ndarray) -> pa.Table:
    times = pa.array((seconds * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))
    names = pa.array([f"k{each}" for each in keys])
    return pa.table({"ts": times, "v": pa.nulls(len(keys), pa.float64()), "k": names})


def one(rows: int, at: float = 0.0) -> Rows:
    return in_memory(train(at + np.arange(rows) / rows, np.arange(rows) % 7))


def test_order_keys_and_rate_are_told() -> None:
    seen, drawn = Watching(), np.random.default_rng(1)
    places = np.arange(4000)
    shuffled = np.argsort(places + drawn.uniform(0, 20, 4000))
    for number in range(8):
        rows = in_memory(train(places[shuffled] / 1000.0 + 4 * number, shuffled % 40))
        seen.spent = 0.0
        seen.take("s", STREAM, rows, 4.0 * number)
    found = seen.monitors["s"].properties()
    worst = max(p - np.flatnonzero(shuffled >= shuffled[p])[0] for p in places)
    assert found.scrambling == worst
    assert found.rate == pytest.approx(1000)
    assert found.keys == pytest.approx(40, rel=0.1)
    assert found.multiplicity == 1


def test_of_files_only_some_tuples_are_read_and_all_are_counted(tmp_path: Path) -> None:
    seen = Watching()
    rows = MOST_ROWS + 500
    path = write_parquet(train(np.arange(rows) / 10.0, np.arange(rows) % 3), tmp_path)
    seen.take("s", STREAM, in_files([path], owned=False), 1.0)
    monitor = seen.monitors["s"]
    assert (monitor.tuples, monitor.order.tuples) == (rows, MOST_ROWS)


def test_it_takes_its_share_of_the_time_however_many_streams_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cost, clock = 0.01, [0.0]

    def ticking() -> float:
        clock[0] += cost  # two calls for each look: it takes as long as between them
        return clock[0]

    ours = SimpleNamespace(perf_counter=ticking)  # and nobody else's: other threads ask, too
    monkeypatch.setattr(watching, "time", ours)
    seen, at = Watching(), 0.0
    for number in range(6000):
        at = number / 100
        seen.take(f"s{number % 300}", STREAM, one(5, at), at)
        assert seen.spent <= FREE_SECONDS + SHARE * at + cost + 1e-9
    assert seen.spent > 0.9 * SHARE * at
    assert sum(seen.counted.values()) == 30_000
    assert seen.share(at) < 2 * SHARE


def test_a_train_that_cannot_be_looked_at_is_counted_and_nobody_is_told_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> pa.Table:
        raise pa.ArrowInvalid("no such thing")

    seen: Watching = Watching()
    broken: Callable[..., pa.Table] = fails
    monkeypatch.setattr(watching, "_some", broken)
    seen.take("s", STREAM, one(5), 0.0)
    assert seen.counted["s"] == 5
    monkeypatch.undo()
    seen.take("s", STREAM, one(5), 1.0)
    assert seen.counted["s"] == 10


def test_silence_shows_as_a_rate_of_zero_and_a_flood_after_it_as_what_it_is() -> None:
    seen = Watching()
    for second in range(5):
        seen.spent = 0.0
        seen.take("s", STREAM, one(100, second), float(second))
    quiet = seen.monitors["s"].sampler
    later = quiet.look(500, 3600.0)
    assert later.rate < 1
    for second in range(3600, 3612):
        seen.spent = 0.0
        seen.take("s", STREAM, one(50_000, second), float(second))
    found = seen.monitors["s"].properties()
    assert found.rate == pytest.approx(50_000, rel=0.01)
    assert found.clock_jumps == 0
