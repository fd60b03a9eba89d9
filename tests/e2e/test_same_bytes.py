"""A replay writes the parts of file sinks again, byte for byte, in every format."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.runtime.loop.supervisor import Settings
from tests.e2e.support import figures, until

pytestmark = pytest.mark.spark

SELDOM = Settings(checkpoint_seconds=1e9)
QUERIES = {
    "plain": "SELECT ts, id, mph, named_struct('a', mph, 'b', array(id)) AS pair FROM s",
    "few": "SELECT upper(id) AS id, mph * 1.5 AS x, map(id, mph) AS m FROM s WHERE mph % 3 = 0",
    "windows": "SELECT id, window_start, count(*) AS n, sum(mph) AS total, max(id) AS most "
    "FROM s [RANGE 10 SECONDS] GROUP BY id",
    "rows": "SELECT count(*) AS n, collect_list(mph) AS all_of_them FROM s [ROWS 7]",
    "corrected": "SELECT window_start, count(*) AS n FROM s [RANGE 10 SECONDS] "
    "ALLOWED LATENESS INTERVAL 5 MINUTES",
    "above": "SELECT id, total FROM windows WHERE total > 10",
    "joined": "SELECT a.id, a.mph, b.mph AS other FROM s [RANGE 10 SECONDS] AS a "
    "JOIN s [RANGE 10 SECONDS] AS b ON a.id = b.id AND a.mph < b.mph",
}


def test_parts_that_are_written_again_are_the_same(spark: SparkSession, tmp_path: Path) -> None:
    home, image = tmp_path / "home", tmp_path / "image"
    with penstock.connect(home, spark=spark, settings=SELDOM) as ps:
        define(ps, tmp_path / "out")
        for train in range(6):
            push(ps, train)
        image_of(home, image)
        before = parts(tmp_path / "out")
    assert len({path.parent for path in before}) == len(QUERIES) * 2
    with penstock.connect(image, spark=spark, settings=SELDOM) as ps:
        ps.system.quiescence.catch_up()
        until(ps, lambda: parts(tmp_path / "out").keys() == before.keys())
        push(ps, 6)
    after = parts(tmp_path / "out")
    assert [path for path in before if after[path][0] != before[path][0]] == []
    again = [path for path in before if after[path][1] != before[path][1]]
    assert {path.parent for path in again} == {path.parent for path in before}


def define(ps: Connection, out: Path) -> None:
    stream = "CREATE STREAM s (ts TIMESTAMP, id STRING, mph INT) TIMESTAMP BY ts FROM push()"
    queries = [
        f"CREATE QUERY {name} AS {text} INTO files(path => '{out / name}', format => 'json');"
        f"CREATE QUERY {name}_p AS {text} INTO files(path => '{out / name}_p', format => 'parquet')"
        for name, text in QUERIES.items()
    ]
    ps.sql(";".join([stream, *queries]))


def push(ps: Connection, train: int) -> None:
    """Push rows that close windows, and wait until every query has read them."""
    numbers = range(train * 40, train * 40 + 40)
    rows = [
        {"ts": f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z", "id": f"car{n % 5}", "mph": n}
        for n in numbers
    ]
    rows[7] |= {"ts": "2026-01-01T00:00:01Z"}  # late, but for the one that allows it
    ps.push("s", rows)
    until(ps, lambda: figures(ps, "plain_p")["rows_out"] == numbers.stop)
    until(ps, lambda: all(figures(ps, name)["queued_rows"] == 0 for name in QUERIES))
    with ps.system.supervisor.resting():
        pass


def parts(out: Path) -> dict[Path, tuple[bytes, int]]:
    """Return the parts, and which file each of them is."""
    return {path: (path.read_bytes(), path.stat().st_ino) for path in out.glob("*/part-*")}


def image_of(home: Path, image: Path) -> None:
    """Copy a home as a killed process would leave it."""
    shutil.copytree(home, image, ignore=shutil.ignore_patterns("*.db", "*.db-*"))
    for path in home.rglob("*.db"):
        target = image / path.relative_to(home)
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
