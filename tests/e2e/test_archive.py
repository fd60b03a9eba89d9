"""ARCHIVE FOR: tuples stay readable, once each, over restarts and deaths, and then go."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.trains.rows import SMALL_ROWS
from penstock.runtime.loop.supervisor import Settings
from tests.e2e import scenario
from tests.e2e.death import ANY, Reaper, bury, reaping
from tests.e2e.support import finish, results, rows_of, stream_figures, until

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STREAM = (
    "CREATE STREAM s (ts TIMESTAMP, n INT) TIMESTAMP BY ts ARCHIVE FOR INTERVAL 1 HOUR FROM push()"
)
Opener = Callable[[], Connection]


@pytest.fixture
def opener(spark: SparkSession, tmp_path: Path) -> Opener:
    return lambda: penstock.connect(tmp_path / "home", spark=spark)


def rows(*numbers: int) -> list[dict[str, Any]]:
    return [{"ts": NOON + timedelta(seconds=n), "n": n} for n in numbers]


def archived(ps: Connection, count: int) -> dict[str, Any]:
    """Wait until so many rows are archived, and return the stream's figures."""
    until(ps, lambda: stream_figures(ps, "s")["archived_rows"] == count)
    return stream_figures(ps, "s")


def test_a_stream_that_nobody_reads_is_kept_over_restarts_until_it_is_too_old(
    opener: Opener, tmp_path: Path
) -> None:
    with opener() as ps:
        ps.sql(STREAM)
        ps.push("s", rows(1, 2, 3))
        assert archived(ps, 3)["history_from"] == NOON + timedelta(seconds=1)
    with opener() as ps:
        assert rows_of(ps.sql("SELECT n FROM s ORDER BY n").table) == [{"n": n} for n in (1, 2, 3)]
        ps.push("s", rows(3000))
        archived(ps, 4)
        ps.push("s", rows(3700))
        figures = archived(ps, 2)
        assert figures["history_from"] == NOON + timedelta(seconds=3, microseconds=1)
        assert figures["archived_bytes"] > 0
        found = rows_of(ps.sql("SELECT n FROM s WHERE n > 3 ORDER BY n").table)
        assert found == [{"n": 3000}, {"n": 3700}]
        ps.sql("DROP STREAM s")
        assert list((tmp_path / "home" / "archive").iterdir()) == []


def test_a_large_archive_and_the_buffer_are_one_table(opener: Opener) -> None:
    count = SMALL_ROWS + 5000
    times = pa.array([NOON] * count, pa.timestamp("us", "UTC"))
    with opener() as ps:
        ps.sql(STREAM)
        for part in range(2):
            numbers = pa.array(range(part * count, (part + 1) * count), pa.int32())
            ps.push("s", pa.table({"ts": times, "n": numbers}))
            if not part:
                archived(ps, count)
        until(ps, lambda: stream_figures(ps, "s")["rows"] == 2 * count)
        asked = "SELECT count(*) AS c, count(DISTINCT n) AS d, max(n) AS most FROM s"
        expected = [{"c": 2 * count, "d": 2 * count, "most": 2 * count - 1}]
        assert rows_of(ps.sql(asked).table) == expected
        archived(ps, 2 * count)
        assert rows_of(ps.sql(asked).table) == expected
        ps.push("s", rows(-1))  # archived or in the buffer: it is there
        until(ps, lambda: stream_figures(ps, "s")["rows"] == 2 * count + 1)
        assert rows_of(ps.sql("SELECT count(*) AS c, min(n) AS l FROM s").table) == [
            {"c": 2 * count + 1, "l": -1}
        ]


def test_a_window_with_a_stated_begin_reads_history_through_what_others_share(
    opener: Opener,
) -> None:
    landmark = "[LANDMARK FROM TIMESTAMP '2026-01-01 12:00:00' EVERY 10 SECONDS]"
    with opener() as ps:
        ps.sql(STREAM + "; CREATE QUERY even AS SELECT ts, n FROM s WHERE n % 2 = 0")
        for first in (0, 10):
            ps.push("s", rows(*range(first, first + 10)))
        archived(ps, 20)
    with opener() as ps:
        ps.sql(
            f"CREATE QUERY of_all AS SELECT window_end, count(*) AS c FROM s {landmark};"
            f"CREATE QUERY of_even AS SELECT window_end, count(*) AS c FROM even {landmark}"
        )
        ps.push("s", rows(20, 30))
        for query, expected in (("of_all", [10, 20, 21]), ("of_even", [5, 10, 11])):
            until(ps, lambda query=query: results(ps, query).num_rows == 3)
            assert results(ps, query)["c"].to_pylist() == expected


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    with reaping(tmp_path, monkeypatch) as watching:
        yield watching


POINTS = (
    ("open archive before", 1),
    ("rename archive before", 2),
    ("rename archive before", 5),
    ("journal INSERT INTO trains after", 3),
    ("journal COMMIT before", 1),
    ("journal COMMIT after", 1),
    (ANY, 9),
    (ANY, 23),
)


def test_a_system_that_dies_at_any_point_has_archived_every_tuple_once(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    given_ = scenario.make_rows(300)
    scenario.write_json(tmp_path / "data" / "rows.json", given_)
    script = (
        "CREATE STREAM IF NOT EXISTS s (id INT, ts TIMESTAMP) TIMESTAMP BY ts "
        "SLACK INTERVAL 5 SECONDS ARCHIVE FOR INTERVAL 1 DAY FROM files("
        f"path => '{tmp_path / 'data'}', format => 'json', bounded => true, rows_per_train => 10)"
    )
    often = Settings(checkpoint_seconds=0.1)
    for point in (*POINTS, (None, 1)):
        reaper.live_until(None)
        ps = penstock.connect(tmp_path / "home", spark=spark, settings=often)
        ps.script(script)
        reaper.live_until(*point)
        until(ps, lambda ps=ps: reaper.dead or ps.wait(0.05))
        if point[0] is not None:
            bury(ps, reaper)
    with ps:
        finish(ps)
        found = rows_of(ps.sql("SELECT id FROM s ORDER BY id").table)
        assert [row["id"] for row in found] == [row["id"] for row in given_]
        assert stream_figures(ps, "s")["archived_rows"] == len(given_)
