"""Sets of rows, and lists of names: the same SQL gives the same rows in a Spark batch."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from tests.e2e.oracle.batch import Batch
from tests.e2e.oracle.data import COLUMNS, as_table, make_rows
from tests.e2e.oracle.queries import Query
from tests.e2e.support import EACH_TRAIN_ALONE, bag, figures, finish, results

pytestmark = pytest.mark.spark

S, POSITIVE, EVEN = (
    f"SELECT ts, k, g, n FROM s{where}" for where in ("", " WHERE n > 0", " WHERE g % 2 = 0")
)
OTHER = "SELECT ts, k, g, n FROM s2"
SAME = (
    f"{S} UNION {OTHER}",
    f"{POSITIVE} UNION {EVEN}",
    f"{POSITIVE} UNION ALL {EVEN} UNION {OTHER}",
    f"{POSITIVE} UNION {EVEN} UNION ALL {OTHER}",
    "SELECT g, ts FROM s UNION DISTINCT SELECT n, ts FROM s2",
    f"{POSITIVE} INTERSECT {EVEN}",
    f"{S} INTERSECT {OTHER}",
    f"{S} EXCEPT {OTHER}",
    f"{EVEN} MINUS {POSITIVE}",
    f"{POSITIVE} UNION {EVEN} INTERSECT {OTHER}",
    f"({POSITIVE} UNION {EVEN}) EXCEPT {OTHER}",
    "WITH x (g, t) AS (SELECT g, ts FROM s), y (t, g) AS (SELECT t, max(g) FROM x GROUP BY t) "
    "SELECT t, g FROM y UNION SELECT o.b, o.a FROM (SELECT g, ts FROM s2) AS o (a, b)",
)


def counted(operation: str) -> Query:
    """Return counts of two streams' windows, compared."""
    stream, batch = (
        f" {operation} ".join(text.format(name) for name in ("s", "s2"))
        for text in (
            "SELECT window_start AS w, g, count(*) > 3 AS many FROM {} "
            "[RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY g",
            "SELECT window.start AS w, g, count(*) > 3 AS many FROM {} "
            "GROUP BY window(ts, '20 seconds', '5 seconds'), g",
        )
    )
    return Query(f"windows_{operation.lower()}", stream, batch)


def test_the_same_sql_gives_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    rows = make_rows(29, 240)
    often = [row for at, row in enumerate(rows[:160]) for _ in range(1 + (at % 3 == 0))]
    streams = {"s": as_table(often), "s2": as_table(rows[80:])}
    queries = [Query(f"q{at}", text, text) for at, text in enumerate(SAME)]
    queries += [counted(each) for each in ("UNION", "INTERSECT", "EXCEPT")]
    batch = Batch(spark)
    batch.see(streams)
    with penstock.connect(tmp_path, spark=spark, settings=EACH_TRAIN_ALONE) as ps:
        ps.script(
            "".join(
                f"CREATE STREAM {name} ({COLUMNS.ddl()}) TIMESTAMP BY ts "
                "SLACK INTERVAL 10 SECONDS FROM push(rows_per_train => 1);"
                for name in streams
            )
            + "".join(f"CREATE QUERY {query.name} AS {query.stream};" for query in queries)
        )
        for name, table in streams.items():
            for start in range(0, table.num_rows, 80):
                ps.push(name, table.slice(start, 80))
            ps.end(name)
        finish(ps)
        for query, expected in batch.answers(queries):
            assert figures(ps, query.name)["state"] == "FINISHED", figures(ps, query.name)
            assert figures(ps, query.name)["late_rows"] == 0, query.stream
            found = results(ps, query.name)
            assert bag(found) == bag(expected), query.stream
            assert found.num_rows, query.stream
