"""Joins of streams, SQL in and rows out: the worked example, what stands in FROM, restarts."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.plan.operators import WindowJoin
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e import scenario
from tests.e2e.death import bury, live, reaping
from tests.e2e.support import bag, figures, finish, results, rows_of, until, write_json
from tests.examples import NIGHTLY

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = "(ts TIMESTAMP, car_id STRING, type STRING, mph INT) TIMESTAMP BY ts"
# DCAPE-03, tables 3.1 and 3.2: minute, car, type, miles an hour.
SENSOR1 = [
    (0, "9034 TR", "Car", 55),
    (0, "FED 1", "Truck", 42),
    (1, "SOXFAN4", "Car", 50),
    (1, "8325 DL", "Car", 35),
    (1, "345 DGE", "Car", 65),
    (1, "UMASS1", "SUV", 45),
]
SENSOR2 = [
    (0, "1345 FD", "Car", 34),
    (1, "MV 1223", "Truck", 53),
    (2, "SOXFAN4", "Car", 65),
    (2, "1492 CC", "Car", 32),
    (3, "UMASS1", "SUV", 23),
    (4, "1353 DW", "SUV", 56),
]
Given = list[tuple[int, str, str, int]]


def minute(number: int) -> datetime:
    return BEGIN + timedelta(minutes=number)


def tuples(given: Given) -> list[dict[str, Any]]:
    names = ("ts", "car_id", "type", "mph")
    return [dict(zip(names, (minute(at), *rest), strict=True)) for at, *rest in given]


def answers(ps: Connection, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in results(ps, query).to_pylist()), key=str)


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        for name in ("sensor1", "sensor2"):
            connection.sql(f"CREATE STREAM {name} {COLUMNS} FROM push()")
        yield connection


def flow(ps: Connection, left: Given = SENSOR1, right: Given = SENSOR2) -> None:
    ps.push("sensor1", tuples(left))
    ps.push("sensor2", tuples(right))
    for name in ("sensor1", "sensor2"):
        ps.end(name)
    finish(ps)


def test_cars_that_turn_left_within_two_minutes(ps: Connection) -> None:
    ps.script(
        """
        CREATE QUERY met AS SELECT r1.ts, r2.ts AS later, r1.car_id
          FROM sensor1 [RANGE 2 MINUTES] AS r1
          JOIN sensor2 [RANGE 2 MINUTES] AS r2 ON r1.car_id = r2.car_id;
        CREATE QUERY left_turns AS SELECT r1.car_id, r1.mph
          FROM sensor2 [RANGE 2 MINUTES] AS r2, sensor1 [RANGE 2 MINUTES] AS r1
          WHERE r1.car_id = r2.car_id AND r1.type = 'Car';
        """
    )
    flow(ps)
    assert answers(ps, "met") == [
        (minute(1), minute(2), "SOXFAN4"),
        (minute(1), minute(3), "UMASS1"),
    ]
    assert answers(ps, "left_turns") == [("SOXFAN4", 50)]


def test_windows_stand_over_joins_and_joins_over_windows(ps: Connection) -> None:
    ps.script(
        """
        CREATE QUERY a_minute AS
          SELECT window_start, count(*) AS n
          FROM (SELECT r1.ts, r2.ts AS later FROM sensor1 [RANGE 2 MINUTES] r1
                JOIN sensor2 [RANGE 2 MINUTES] r2 ON r1.car_id = r2.car_id) [RANGE 1 MINUTE] AS j;
        CREATE QUERY ones AS SELECT window_start, count(*) AS n FROM sensor1 [RANGE 1 MINUTE];
        CREATE QUERY twos AS SELECT window_start, count(*) AS n FROM sensor2 [RANGE 1 MINUTE];
        CREATE QUERY both AS SELECT o.window_start, o.n AS ones, t.n AS twos
          FROM ones AS o FULL JOIN twos AS t ON o.window_start = t.window_start;
        CREATE QUERY named AS WITH early AS (SELECT ts, car_id FROM sensor1 WHERE mph > 42)
          SELECT e.car_id FROM early [RANGE 2 MINUTES] AS e
          LEFT SEMI JOIN sensor2 [RANGE 2 MINUTES] AS s ON e.car_id = s.car_id;
        """
    )
    flow(ps)
    assert answers(ps, "a_minute") == [(minute(1), 2)]
    assert answers(ps, "both") == [
        (None, None, 1),
        (None, None, 1),
        (None, None, 2),
        (minute(0), 2, 1),
        (minute(1), 4, 1),
    ]
    assert answers(ps, "named") == [("SOXFAN4",), ("UMASS1",)]


def test_tables_stand_among_the_streams_of_a_join(ps: Connection, tmp_path: Path) -> None:
    kinds = tmp_path / "kinds.csv"
    kinds.write_text("type,wheels\nCar,4\nSUV,4\nTruck,6\n")
    ps.script(
        f"""
        CREATE TABLE kinds (type STRING, wheels INT)
          FROM files(path => '{kinds}', format => 'csv', header => true);
        CREATE QUERY amid AS SELECT car_id, k.wheels
          FROM sensor1 [RANGE 2 MINUTES] a JOIN kinds k ON a.type = k.type
          JOIN sensor2 [RANGE 2 MINUTES] b USING (car_id);
        CREATE QUERY beside AS SELECT a.car_id, k.wheels
          FROM kinds k, sensor1 [ROWS 100] a, sensor2 [ROWS 100] b
          WHERE a.car_id = b.car_id AND k.type = a.type;
        """
    )
    flow(ps)
    assert answers(ps, "amid") == answers(ps, "beside") == [("SOXFAN4", 4), ("UMASS1", 4)]


def test_windows_of_a_join_can_be_grouped_by(ps: Connection) -> None:
    window = "[RANGE 4 MINUTES SLIDE 2 MINUTES]"
    for mode in ("recompute", "reuse"):
        ps.sql(
            f"CREATE QUERY {mode}s WITH (join => '{mode}') AS "
            f"SELECT window_start, count(*) AS n FROM sensor1 {window} a "
            f"JOIN sensor2 {window} b ON a.car_id = b.car_id GROUP BY window_start"
        )
        assert f"({mode})" in ps.sql(f"EXPLAIN {mode}s").message
    flow(ps)
    assert answers(ps, "recomputes") == answers(ps, "reuses") == [(minute(0), 2)]


@pytest.mark.parametrize("window", ["[RANGE 1 MINUTE]", "[ROWS 10]"])
def test_a_tuple_behind_its_watermark_is_late_and_meets_nobody(ps: Connection, window: str) -> None:
    ps.sql(
        f"CREATE QUERY q AS SELECT a.car_id FROM sensor1 {window} a "
        f"JOIN sensor2 {window} b ON a.car_id = b.car_id"
    )
    ps.push("sensor1", tuples([(9, "x", "Car", 1)]))
    ps.push("sensor2", tuples([(9, "y", "Car", 2)]))
    until(ps, lambda: figures(ps, "q")["rows_in"] == 2)
    flow(ps, [(8, "y", "Car", 3)], [(9, "x", "Car", 4)])
    assert answers(ps, "q") == [("x",)]
    assert figures(ps, "q")["late_rows"] == 1
    (late,) = rows_of(ps.sql("SELECT * FROM q.late").table)
    assert (late["ts"], late["r_ts"]) == (minute(8), None)


# -- more than fits into the driver's small jobs -----------------------------------------


def test_trains_of_many_tuples_join_as_a_batch_does(spark: SparkSession, tmp_path: Path) -> None:
    random_ = random.Random(5)
    for name in "ab":
        for train in range(3):
            at = [train * 12_000 + random_.randrange(12_000) for _ in range(12_000)]
            table = pa.table(
                {
                    "ts": pa.array([BEGIN + timedelta(milliseconds=each) for each in sorted(at)]),
                    "k": [random_.randrange(20_000) for _ in at],
                    "id": [f"{name}{train}-{number}" for number in range(len(at))],
                }
            )
            (tmp_path / name).mkdir(exist_ok=True)
            pq.write_table(table, tmp_path / name / f"{train}.parquet")
        frame = spark.read.parquet(str(tmp_path / name))
        frame.createOrReplaceTempView(f"batch_{name}")
    kinds = {
        "inner": "JOIN",
        "both": "FULL JOIN",
        "semi": "LEFT SEMI JOIN",
        "anti": "LEFT ANTI JOIN",
    }
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        script = [  # one script: what is created later would begin with the next train
            f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, id STRING) TIMESTAMP BY ts FROM "
            f"files(path => '{tmp_path / name}', format => 'parquet', bounded => true, "
            "files_per_train => 1)"
            for name in "ab"
        ]
        for name, kind in kinds.items():
            shown = "a.id AS a, b.id AS b" if name in ("inner", "both") else "a.id AS a"
            script.append(
                f"CREATE QUERY {name}s AS SELECT {shown} FROM a [RANGE 4 SECONDS] "
                f"{kind} b [RANGE 9 SECONDS] ON a.k = b.k "
                f"INTO files(path => '{tmp_path / 'out' / name}', format => 'parquet')"
            )
        ps.script(";".join(script))
        finish(ps)
    for name, kind in kinds.items():
        shown = "a.id AS a, b.id AS b" if name in ("inner", "both") else "a.id AS a"
        expected = spark.sql(
            f"SELECT {shown} FROM batch_a a {kind} batch_b b ON a.k = b.k "
            "AND b.ts <= a.ts + INTERVAL 4 SECONDS AND a.ts <= b.ts + INTERVAL 9 SECONDS"
        ).toArrow()
        assert expected.num_rows
        order = [(column, "ascending") for column in expected.column_names]
        parts = sorted((tmp_path / "out" / name).glob("part-*"))
        found = pa.concat_tables([pq.ParquetFile(part).read() for part in parts])
        assert found.cast(expected.schema).sort_by(order).equals(expected.sort_by(order)), name


# -- deaths ------------------------------------------------------------------------------

JOINS = {
    "pairs": "SELECT a.id AS a, b.id AS b FROM a [RANGE 4 SECONDS] JOIN b [RANGE 7 SECONDS] "
    "USING (k)",
    "alone": "SELECT a.id AS a, b.id AS b FROM a [RANGE 4 SECONDS] FULL JOIN b [RANGE 3 SECONDS] "
    "ON a.k = b.k AND a.n < b.n",
    "counted": "SELECT a.id AS a, b.id AS b FROM a [ROWS 5] LEFT JOIN b [ROWS 3] ON a.k = b.k",
    "hopped": "SELECT window_start, a.id AS a, b.id AS b FROM a [RANGE 6 SECONDS SLIDE 2 SECONDS] "
    "JOIN b [RANGE 6 SECONDS SLIDE 2 SECONDS] ON a.k = b.k AND a.n = b.n",
}
# Each of four units has six runs to do, at least: the first two are surely come to.
POINTS = (
    ("journal INSERT INTO runs unit after", 5),
    ("journal INSERT INTO runs unit after", 9),
    ("rename state before", 6),
    ("journal INSERT INTO checkpoints after", 2),
    ("remove state before", 4),
    ("open out before", 2),
)


def script(directory: Path, out: Path) -> str:
    streams = [
        f"CREATE STREAM IF NOT EXISTS {name} (id INT, ts TIMESTAMP, k STRING, n INT, x DOUBLE) "
        "TIMESTAMP BY ts SLACK INTERVAL 5 SECONDS "
        f"FROM files(path => '{directory / name}', format => 'json', bounded => true, "
        "rows_per_train => 40)"
        for name in "ab"
    ]
    queries = [
        f"CREATE QUERY IF NOT EXISTS {name} WITH (join => 'reuse') AS {select} "
        f"INTO files(path => '{out / name}', format => 'json')"
        for name, select in JOINS.items()
    ]
    return ";\n".join((*streams, *queries))


def written(out: Path) -> dict[str, list[str]]:
    return {
        name: sorted(
            line for part in (out / name).glob("part-*") for line in part.read_text().splitlines()
        )
        for name in JOINS
    }


@NIGHTLY  # tests/e2e/test_kill_states.py has joins that die
def test_a_join_that_dies_comes_back_to_the_same_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, name in enumerate("ab"):
        rows = scenario.make_rows(250, seed=seed, seconds=120)
        write_json(tmp_path / name / "rows.json", rows)
    with penstock.connect(tmp_path / "peace", spark=spark) as ps:
        ps.script(script(tmp_path, tmp_path / "expected"))
        finish(ps)
    expected = written(tmp_path / "expected")
    assert all(expected.values())
    died = 0
    with reaping(tmp_path, monkeypatch, RunLimits(aggregate_rows=50)) as reaper:
        for life, point in enumerate(POINTS):
            reaper.live_until(None)
            ps = penstock.connect(
                tmp_path / "home", spark=spark, settings=reaper.settings, begin=False
            )
            if not life:
                ps.script(script(tmp_path, tmp_path / "out"))
            reaper.live_until(*point)
            ps.begin()  # not before it is known where it ends
            if live(ps, reaper):
                bury(ps, reaper)
            else:
                died += 1
        reaper.live_until(None)
        with penstock.connect(tmp_path / "home", spark=spark) as ps:
            finish(ps)
    assert died >= 2
    assert written(tmp_path / "out") == expected


SPREAD = "(ts TIMESTAMP, k INT, x INT) TIMESTAMP BY ts"
MANY = 2_000


@pytest.mark.parametrize("kind", ["JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
def test_few_keys_in_a_long_train_meet_by_time(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    numbers = random.Random(7)
    given = {
        name: [
            {"ts": BEGIN + timedelta(seconds=numbers.randrange(MANY * 20)), "k": at % 3, "x": at}
            for at in range(MANY)
        ]
        for name in "ab"
    }
    shown = "a.x" if "LEFT" in kind else "a.x, b.x AS y"
    join_sql, hows = WindowJoin.run_sql, []

    def run_sql(join: WindowJoin, *run: Any) -> str:
        hows.extend(run[3:])
        return join_sql(join, *run)

    with (
        mock.patch.object(WindowJoin, "run_sql", run_sql),
        penstock.connect(tmp_path / "home", spark=spark) as ps,
    ):
        for name in "ab":
            ps.sql(f"CREATE STREAM {name} {SPREAD} FROM push()")
        ps.sql(
            f"CREATE QUERY q AS SELECT {shown} FROM a [RANGE 10 SECONDS] "
            f"{kind} b [RANGE 20 SECONDS] ON a.k = b.k"
        )
        for name, rows in given.items():
            ps.push(name, sorted(rows, key=lambda row: row["ts"]))
            ps.end(name)
        finish(ps)
        found = bag(results(ps, "q"))
    assert any(how.by_time for how in hows)
    for name, rows in given.items():
        spark.createDataFrame(pa.Table.from_pylist(rows)).createOrReplaceTempView(f"few_{name}")
    batch = spark.sql(
        f"SELECT {shown} FROM few_a AS a {kind} few_b AS b ON a.k = b.k "
        "AND b.ts <= a.ts + INTERVAL 10 SECONDS AND a.ts <= b.ts + INTERVAL 20 SECONDS"
    )
    assert found == bag(batch.toArrow())


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
def test_a_condition_is_asked_of_tuples_that_are_there_together(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Who else has the key while a run goes on depends on how streams are cut into trains."""
    shown = "a.x" if kind != "JOIN" else "a.x, b.x AS y"
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        for name in "ab":
            ps.sql(f"CREATE STREAM {name} {SPREAD} FROM push()")
        ps.sql(
            f"CREATE QUERY q AS SELECT {shown} FROM a [RANGE 1 MINUTE] "
            f"{kind} b [RANGE 1 MINUTE] ON a.k = b.k AND 10 / (a.x - b.x) > 1"
        )
        ps.push("a", [{"ts": minute(at), "k": 1, "x": x} for at, x in ((0, 1), (10, 2))])
        ps.push("b", [{"ts": minute(at), "k": 1, "x": x} for at, x in ((0, 0), (10, 1))])
        for name in "ab":
            ps.end(name)
        finish(ps)
        assert figures(ps, "q")["state"] == "FINISHED"
        assert results(ps, "q").num_rows == (0 if "ANTI" in kind else 2)
