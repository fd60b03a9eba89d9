"""A condition that cannot fail guards those that can, wherever it is written."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from tests.e2e.oracle.data import COLUMNS, as_table, make_rows
from tests.e2e.support import figures, finish, results

pytestmark = pytest.mark.spark

GUARDED = ("12 / g > 3 AND g <> 0", "g <> 0 AND 12 / g > 3")
TEXTS = ("k IN ('7', '8') AND CAST(k AS INT) > 7", "CAST(k AS INT) > 7 AND k IN ('7', '8')")


def test_what_is_guarded_does_not_fail(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        row | {"g": at % 4, "k": ("7", "8", "x", None)[at % 4], "n": 1}
        for at, row in enumerate(make_rows(31, 120))
    ]
    fitting = {"g": sum(row["g"] in (1, 2, 3) for row in rows), "k": len(rows) // 4}
    queries: dict[str, tuple[str, int]] = {}
    for column, conditions in (("g", GUARDED), ("k", TEXTS)):
        for at, where in enumerate(conditions):
            queries[f"{column}_rows{at}"] = (f"SELECT n FROM s WHERE {where}", fitting[column])
            queries[f"{column}_session{at}"] = (
                f"SELECT sum(n) AS n FROM s [SESSION GAP 1 HOUR] WHERE {where}",
                fitting[column],
            )
            queries[f"{column}_sums{at}"] = (  # that differ, so that a bundle may hold both
                f"SELECT sum(n) AS n, {at} AS at FROM s [RANGE 1 HOUR] WHERE {where}",
                fitting[column],
            )
            queries[f"{column}_joined{at}"] = (
                "SELECT a.n FROM (SELECT ts, n AS m FROM s) [RANGE 1 MICROSECOND] AS b "
                f"JOIN s [RANGE 1 MICROSECOND] AS a ON {where} AND a.ts = b.ts",
                fitting[column],
            )
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(
            f"CREATE STREAM s ({COLUMNS.ddl()}) TIMESTAMP BY ts SLACK INTERVAL 10 SECONDS "
            "FROM push(rows_per_train => 1);"
            + "".join(f"CREATE QUERY {name} AS {text};" for name, (text, _) in queries.items())
        )
        ps.push("s", as_table(rows))
        ps.end("s")
        finish(ps)
        for name, (text, total) in queries.items():
            assert figures(ps, name)["state"] == "FINISHED", (text, figures(ps, name))
            assert sum(results(ps, name)["n"].to_pylist()) == total, text
