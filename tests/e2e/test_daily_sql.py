"""SQL as users write it every day: a window's rows are those of the same text as a Spark batch."""

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from tests.e2e.oracle.batch import interpreted
from tests.e2e.oracle.data import COLUMNS, as_table, make_rows
from tests.e2e.support import EACH_TRAIN_ALONE, bag, figures, finish, results

pytestmark = pytest.mark.spark

SIZE = timedelta(minutes=3)
PER_WINDOW = (
    # OVER, with the window's bounds shown
    "SELECT window_start, k, count(*) AS n, rank() OVER (PARTITION BY window_start "
    "ORDER BY count(*) DESC) AS r FROM {s} GROUP BY window_start, k",
    "SELECT window_start AS w, k, dense_rank() OVER (PARTITION BY window_start "
    "ORDER BY sum(n) DESC, k) AS r FROM {s} GROUP BY window_start, k",
    # ORDER BY: aggregates, qualified names, aliases, expressions of them, ALL
    "SELECT k, count(*) AS c FROM {s} GROUP BY k ORDER BY count(*) DESC, k LIMIT 2",
    "SELECT k FROM {s} GROUP BY k ORDER BY sum(n) DESC, s.k LIMIT 2",
    "SELECT k AS key, max(n) AS top FROM {s} GROUP BY k ORDER BY abs(top - 3), key LIMIT 3",
    "SELECT k, sum(n) AS n FROM {s} GROUP BY k ORDER BY n DESC, k LIMIT 2",
    "SELECT g, -g AS h, count(*) AS c FROM {s} GROUP BY g ORDER BY h LIMIT 2",
    "SELECT g, count(*) AS c FROM {s} GROUP BY g ORDER BY ALL LIMIT 2",
    "SELECT g, count(*) AS c FROM {s} GROUP BY g ORDER BY 2 DESC, 1 LIMIT ALL",
    "SELECT n AS m, g AS `all`, b FROM {s} ORDER BY `all`, m DESC, b LIMIT 3",
    # numbers that GROUP BY ALL and DISTINCT show are no places of columns
    "SELECT count(*) AS c, 1 AS one, g FROM {s} GROUP BY ALL",
    "SELECT DISTINCT g, 9 AS nine FROM {s}",
    "SELECT DISTINCT 2 AS two, 7 AS seven FROM {s}",
    "SELECT upper(k) AS u FROM {s} GROUP BY upper(k) ORDER BY upper(k) DESC LIMIT 1",
    "SELECT n, -g AS g, b FROM {s} ORDER BY g, s.n, b LIMIT 3",
    "SELECT n, -g AS g, b FROM {s} ORDER BY s.g, s.n, s.b LIMIT 3",
    "SELECT n * 2 AS twice, twice + 1 AS odd, b FROM {s} ORDER BY odd DESC, b LIMIT 3",
    "SELECT DISTINCT k, g FROM {s} ORDER BY s.k, g DESC LIMIT 3",
    "SELECT grouping(k) AS w, k, count(*) AS c FROM {s} GROUP BY ROLLUP (k) "
    "ORDER BY grouping(k), k LIMIT 3",
    # HAVING: aggregates that are not shown, aliases, names that columns have too
    "SELECT k FROM {s} GROUP BY k HAVING count(*) > 10 AND s.k > 'a'",
    "SELECT k, sum(n) AS n FROM {s} GROUP BY k HAVING n > 20",
    "SELECT k, -sum(n) AS n FROM {s} GROUP BY k HAVING sum(n) > 20",
    "SELECT k AS b, sum(b) AS s FROM {s} GROUP BY k HAVING b IS NOT NULL",
    "SELECT k, g + 1 AS g, count(*) AS c FROM {s} GROUP BY k, g HAVING g > 1",
    "SELECT g AS h, count(*) AS c FROM {s} GROUP BY h HAVING h > 1",
    # aliases of aliases
    "SELECT k, sum(n) AS t, count(n) AS c, t / c AS m, m > 1 AS many FROM {s} GROUP BY k",
    "SELECT sum(n) AS t, count(*) AS c, t - c AS m FROM {s} HAVING m > 0",
    "SELECT g AS key, key * 2 AS twice, count(*) AS c FROM {s} GROUP BY g ORDER BY twice LIMIT 2",
    "SELECT named_struct('a', max(n)) AS top, top.a + 1 AS next FROM {s} GROUP BY g",
    # QUALIFY
    "SELECT k, g, b FROM {s} QUALIFY row_number() OVER (PARTITION BY window_start, g "
    "ORDER BY s.b, k, ts) = 1",
    "SELECT g, -b AS b, row_number() OVER (PARTITION BY window_start, g ORDER BY b, k, ts) AS r "
    "FROM {s} QUALIFY r = 1",
    "SELECT g, -b AS b FROM {s} QUALIFY rank() OVER (PARTITION BY window_start ORDER BY b) = 1",
    # FROM without names, in brackets, and with a WITH inside
    "SELECT g, count(*) AS c FROM (SELECT g, window_start FROM {s}) GROUP BY window_start, g "
    "ORDER BY c, g LIMIT 2",
    "SELECT x.n, x.g FROM ({s}) AS x ORDER BY x.n DESC, x.g, x.b LIMIT 2",
    "SELECT q.c FROM (WITH s AS (SELECT window_start, g, n FROM {s}) SELECT window_start, g, "
    "count(n) AS c FROM s GROUP BY window_start, g) AS q WHERE q.g > 0",
    # a LIMIT above
    "SELECT window_start, g, c FROM (SELECT window_start, g, count(*) AS c FROM {s} "
    "GROUP BY window_start, g) AS q ORDER BY c DESC, g LIMIT 2",
    # USING: one key of both sides
    "SELECT g, a.n, c.n AS m FROM {s} AS a FULL JOIN {s2} AS c USING (g)",
    "SELECT g, b, a.k, c.k AS l FROM {s} AS a FULL JOIN {s2} AS c USING (g, b) WHERE g > 0",
    "SELECT g, a.g AS ag, c.g AS cg FROM {s} AS a FULL OUTER JOIN {s2} AS c USING (g, b)",
)


def starts(table: pa.Table) -> list[datetime]:
    """Return where the windows begin that hold rows."""
    seconds = SIZE.total_seconds()
    times = (each.timestamp() // seconds * seconds for each in table["ts"].to_pylist())
    zone = table["ts"][0].as_py().tzinfo
    return sorted({datetime.fromtimestamp(each, zone) for each in times})


def of_window(table: pa.Table, start: datetime) -> pa.Table:
    """Return the rows of a window, with its start."""
    kept = [start <= each < start + SIZE for each in table["ts"].to_pylist()]
    part = table.filter(pa.array(kept))
    return part.append_column("window_start", pa.array([start] * part.num_rows, table["ts"].type))


@pytest.mark.timeout(900)
def test_a_window_gives_the_rows_of_the_same_text_as_a_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    streams = {"s": as_table(make_rows(31, 90)), "s2": as_table(make_rows(32, 40))}
    batch = interpreted(spark)
    expected: dict[str, list[pa.Table]] = {text: [] for text in PER_WINDOW}
    for start in starts(pa.concat_tables(streams.values())):
        for name, table in streams.items():
            batch.createDataFrame(of_window(table, start)).createOrReplaceTempView(name)
        for text in PER_WINDOW:
            expected[text].append(batch.sql(text.format(s="s", s2="s2")).toArrow())
    with penstock.connect(tmp_path / "home", spark=spark, settings=EACH_TRAIN_ALONE) as ps:
        for name in streams:
            ps.sql(
                f"CREATE STREAM {name} ({COLUMNS.ddl()}) TIMESTAMP BY ts "
                "SLACK INTERVAL 10 SECONDS FROM push()"
            )
        for at, text in enumerate(PER_WINDOW):
            bracket = "[RANGE 3 MINUTES SLIDE 3 MINUTES]"
            select = text.format(s=f"s {bracket}", s2=f"s2 {bracket}")
            ps.sql(f"CREATE QUERY q{at} AS {select}")
        for name, table in streams.items():
            ps.push(name, table)
            ps.end(name)
        finish(ps)
        for at, text in enumerate(PER_WINDOW):
            assert figures(ps, f"q{at}")["state"] == "FINISHED", (text, figures(ps, f"q{at}"))
            answer = sum((bag(each) for each in expected[text]), start=type(bag(pa.table({})))())
            assert bag(results(ps, f"q{at}")) == answer, text
