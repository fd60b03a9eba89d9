"""SELECTs over tables inside expressions give the rows that the same SQL gives in a Spark batch."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.errors import PenstockError
from tests.e2e.oracle.batch import Batch
from tests.e2e.oracle.data import COLUMNS, TABLE, TABLE_DDL, as_table, make_rows
from tests.e2e.oracle.queries import Query
from tests.e2e.support import (
    bag,
    figures,
    finish,
    replace_json,
    results,
    rows_of,
    until,
    write_json,
)

pytestmark = pytest.mark.spark

# The table has a NULL among its k, and among its factors; the stream among its k and n.
CONDITIONS = (
    "k IN (SELECT k FROM t)",
    "k NOT IN (SELECT k FROM t)",
    "k NOT IN (SELECT k FROM t WHERE k IS NOT NULL)",
    "k NOT IN (SELECT k FROM t WHERE factor > 100)",
    "k NOT IN (SELECT k FROM t WHERE factor = g)",
    "n NOT IN (SELECT factor FROM t)",
    "NOT n IN (SELECT factor * 10 FROM t WHERE label IS NOT NULL AND factor IS NOT NULL)",
    "(k, g) IN (SELECT k, factor FROM t)",
    "(k, g) NOT IN (SELECT k, factor FROM t)",
    "(k, g) NOT IN (SELECT k, factor FROM t WHERE factor IS NOT NULL)",
    "upper(k) IN (SELECT upper(label) FROM t) OR k IN (SELECT k FROM t)",
    "EXISTS (SELECT 1 FROM t)",
    "EXISTS (SELECT * FROM t WHERE t.k = s.k AND t.factor < s.g)",
    "EXISTS (SELECT k FROM t AS s2 WHERE s2.k <=> s.k) AND n > 0",
    "NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k)",
    "NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k OR factor = n)",
    "NOT EXISTS (SELECT 1 FROM t WHERE factor > 100)",
    "k IN (SELECT k FROM t WHERE label LIKE 'o%') AND g IN (SELECT factor FROM t)",
    "n > (SELECT max(factor) FROM t)",
    "n > (SELECT avg(factor) FROM t) OR g = (SELECT count(*) FROM t WHERE factor = 3)",
    "g IN (SELECT max(factor) FROM t GROUP BY k HAVING count(*) > 0)",
    "k IN (SELECT a.k FROM t AS a JOIN t AS b ON a.k = b.k AND a.factor < b.factor)",
    "g <> 0 AND 4 / g IN (SELECT factor FROM t)",
)
SHOWN = (
    "SELECT n - (SELECT max(factor) FROM t) AS less, g FROM s",
    "SELECT CASE WHEN g IN (SELECT factor FROM t) THEN 'in' ELSE 'out' END AS place, g FROM s",
)
WINDOWED = (
    ("k IN (SELECT k FROM t)", "c > (SELECT min(factor) FROM t)"),
    ("NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k)", "c > 0"),
)


def test_the_same_sql_gives_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    queries = [
        same(f"w{at}", f"SELECT ts, k, g, n FROM s WHERE {each}")
        for at, each in enumerate(CONDITIONS)
    ]
    queries += [same(f"s{at}", each) for at, each in enumerate(SHOWN)]
    for at, (where, having) in enumerate(WINDOWED):
        queries.append(
            Query(
                f"a{at}",
                f"SELECT window_start AS w, g, count(*) AS c FROM s [RANGE 1 MINUTE] "
                f"WHERE {where} GROUP BY g HAVING {having}",
                f"SELECT window.start AS w, g, count(*) AS c FROM s "
                f"WHERE {where} GROUP BY window(ts, '1 minute'), g "
                f"HAVING {having.replace('c >', 'count(*) >')}",
            )
        )
    write_json(tmp_path / "t.json", TABLE)
    whole = as_table(make_rows(23, 200))
    batch = Batch(spark)
    batch.see({"s": whole})
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            f"CREATE TABLE t ({TABLE_DDL}) "
            f"FROM files(path => '{tmp_path / 't.json'}', format => 'json');"
            f"CREATE STREAM s ({COLUMNS.ddl()}) TIMESTAMP BY ts SLACK INTERVAL 10 SECONDS "
            "FROM push(rows_per_train => 1);"
            + "".join(f"CREATE QUERY {query.name} AS {query.stream};" for query in queries)
        )
        for start in range(0, whole.num_rows, 90):
            ps.push("s", whole.slice(start, 90))
        ps.end("s")
        finish(ps)
        for query, expected in batch.answers(queries):
            assert figures(ps, query.name)["state"] == "FINISHED", figures(ps, query.name)
            assert bag(results(ps, query.name)) == bag(expected), query.stream
        with pytest.raises(PenstockError) as refused:
            ps.sql("DROP TABLE t")
        assert refused.value.code == "IN_USE"


def same(name: str, text: str) -> Query:
    return Query(name, text, text)


def test_tuples_are_asked_about_the_rows_in_force(spark: SparkSession, tmp_path: Path) -> None:
    write_json(tmp_path / "t" / "t.json", [{"k": 1}])
    rows = [{"n": n, "k": k} for n in (1, 2) for k in (1, 2)]
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            f"CREATE TABLE t (k INT) FROM files(path => '{tmp_path / 't'}', format => 'json');"
            "CREATE STREAM s (n INT, k INT) FROM push();"
            "CREATE QUERY met AS SELECT n, k FROM s WHERE k IN (SELECT k FROM t);"
            "CREATE QUERY told AS SELECT n, k, (SELECT max(k) FROM t) AS most FROM s;"
        )
        ps.push("s", rows[:2])
        until(ps, lambda: results(ps, "told").num_rows == 2)
        until(ps, lambda: results(ps, "met").num_rows == 1)
        replace_json(tmp_path / "t" / "t.json", [{"k": 2}, {"k": 3}])
        until(ps, lambda: rows_of(ps.sql("SHOW TABLES").table)[0]["version"] == 2)
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.push("s", rows[2:])
        until(ps, lambda: results(ps, "told").num_rows == 4)
        until(ps, lambda: results(ps, "met").num_rows == 2)
        assert rows_of(results(ps, "met")) == [rows[0], rows[3]]
        assert [row["most"] for row in rows_of(results(ps, "told"))] == [1, 1, 3, 3]
