"""Queries whose trains go through files that tasks wrote equal the batch, and pass no driver."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e.oracle.batch import Batch
from tests.e2e.oracle.data import COLUMNS, as_table, make_rows
from tests.e2e.oracle.queries import Query
from tests.e2e.support import bag, finish, results, rows_of, until

pytestmark = pytest.mark.spark

# Whatever there is goes to files; 0 rows in the driver so that Spark is asked for everything.
ALL_LARGE = RunLimits(driver_rows=0, large_rows=0, large_bytes=0)
ROWS = 1_500
BY_TIME = "window.start AS c0"
QUERIES = (
    Query("kept", *["SELECT ts, k, n, b, d, x, flag FROM s WHERE n % 5 <> 0"] * 2),
    Query("thrice", *["SELECT ts, k, n * 3 AS m, x FROM kept WHERE n > -40"] * 2),
    Query(
        "minutes",
        "SELECT window_start AS c0, n AS c1, count(*) AS c2, sum(d) AS c3, max_by(n, b) AS c4 "
        "FROM s [RANGE 1 MINUTE] GROUP BY n",
        f"SELECT {BY_TIME}, n AS c1, count(*) AS c2, sum(d) AS c3, "
        "max_by(n, struct(b, n)) FILTER (WHERE b IS NOT NULL) AS c4 "
        "FROM s GROUP BY window(ts, '1 minute'), n",
    ),
    Query(
        "rolled",
        "SELECT window_start AS c0, sum(c2) AS c1, count(*) AS c2 FROM minutes [RANGE 5 MINUTES]",
        f"SELECT {BY_TIME}, sum(c2) AS c1, count(*) AS c2 FROM minutes "
        "GROUP BY window(c0, '5 minutes')",
    ),
    Query(
        "met",
        "SELECT l.ts AS c0, l.n AS c1, r.m AS c2 FROM kept [RANGE 20 SECONDS] AS l "
        "JOIN thrice [RANGE 20 SECONDS] AS r ON l.k = r.k AND l.n = r.m",
        "SELECT l.ts AS c0, l.n AS c1, r.m AS c2 FROM kept AS l JOIN thrice AS r "
        "ON l.k = r.k AND l.n = r.m AND abs(unix_micros(l.ts) - unix_micros(r.ts)) < 20000000",
    ),
)


def play(ps: Connection) -> None:
    ps.script(
        f"CREATE STREAM s ({COLUMNS.ddl()}) TIMESTAMP BY ts SLACK INTERVAL 10 SECONDS "
        "FROM push(rows_per_train => 1);"
        + "".join(f"CREATE QUERY {query.name} AS {query.stream};" for query in QUERIES)
    )
    whole = as_table(make_rows(41, ROWS))
    for start in range(0, whole.num_rows, 500):
        ps.push("s", whole.slice(start, 500))


def is_done(ps: Connection) -> bool:
    """Say whether every query has taken all that there is, and the last window is still open."""
    shown = rows_of(ps.sql("SELECT queued_rows, rows_in FROM system.units").table)
    return any(row["rows_in"] == ROWS for row in shown) and not any(
        row["queued_rows"] for row in shown
    )


@pytest.mark.parametrize("share", [False, True])
def test_what_goes_through_files_equals_the_batch_and_passes_no_driver(
    share: bool, spark: SparkSession, tmp_path: Path
) -> None:
    batch = Batch(spark)
    batch.see({"s": as_table(make_rows(41, ROWS))})
    told = Settings(share=share, limits=ALL_LARGE, warm_seconds=0)
    with penstock.connect(tmp_path / "home", spark=spark, settings=told) as ps:
        play(ps)
        until(ps, lambda: is_done(ps))
        units = rows_of(ps.sql("SELECT * FROM system.units WHERE rows_out > 0").table)
        ps.end("s")
        finish(ps)
        for query, expected in batch.answers(QUERIES):
            found = results(ps, query.name)
            assert found.num_rows > 0, query.name
            assert bag(found) == bag(expected), query.name
            assert found.schema.types == expected.schema.types, query.name
    nodes = [unit for unit in units if unit["kind"] == "node"]
    assert len(nodes) >= (3 if share else len(QUERIES) - 1), units
    assert [unit["what"] for unit in nodes if unit["driver_bytes"]] == []
    assert all(unit["file_bytes"] > 0 for unit in nodes)
    assert not list((tmp_path / "home" / "spill").iterdir())
