"""Modifiers in a running system: late tuples, restarts, what reads them, slopes over time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.tuples import modify
from tests.e2e.support import figures, finish, results, rows_of, until

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
STREAM = (
    "CREATE STREAM s (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts SLACK INTERVAL 2 SECONDS "
    "FROM push(rows_per_train => 1);"
)


def row(second: int, k: str, x: int) -> dict[str, object]:
    return {"ts": BEGIN + timedelta(seconds=second), "k": k, "x": x}


def settle(ps: Connection, query: str, count: int) -> None:
    """Wait until a query has read so many tuples."""
    until(ps, lambda: figures(ps, query)["rows_in"] >= count)


def test_a_late_tuple_has_no_place_and_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.sql(STREAM + "CREATE QUERY q AS SELECT ts, x, adiff(x) AS d FROM s WHERE x > 0;")
        ps.push("s", [row(0, "a", 1), row(10, "a", 4)])
        settle(ps, "q", 2)
        ps.push("s", [row(7, "a", 9), row(8, "a", 6)])
        ps.end("s")
        finish(ps)
        found = [(r["x"], r["d"]) for r in results(ps, "q").to_pylist()]
        assert found == [(6, 5), (4, -2)]
        assert figures(ps, "q")["late_rows"] == 1
        late = rows_of(ps.sql("SELECT * FROM q.late").table)
        assert [each["x"] for each in late] == [9]


def test_a_restart_remembers_the_last_tuples(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modify, "COMPACT_PARTS", 2)
    found = []
    for turn in range(4):
        with penstock.connect(tmp_path, spark=spark) as ps:
            if not turn:
                ps.sql(
                    STREAM + "CREATE QUERY q AS "
                    "SELECT k, x, adiff(x) OVER (PARTITION BY k) AS d FROM s;"
                )
            ps.push("s", [row(turn * 10, "a", turn), row(turn * 10 + 1, "b", -turn)])
            if turn == 3:
                ps.end("s")
                finish(ps)
                found = [tuple(each.values()) for each in results(ps, "q").to_pylist()]
            else:
                settle(ps, "q", (turn + 1) * 2)
    assert found == [
        ("a", 1, 1),
        ("b", -1, -1),
        ("a", 2, 1),
        ("b", -2, -1),
        ("a", 3, 1),
        ("b", -3, -1),
    ]


def test_windows_over_modifiers_close_by_the_new_time_and_by_the_old(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.sql(
            STREAM
            + "CREATE QUERY n AS SELECT ts, adiff(x) AS d FROM s;"
            + "CREATE QUERY o AS SELECT ts, adiff(x, profile => 'O') AS d FROM s;"
            + "CREATE QUERY sn AS SELECT window_start, sum(d) AS d FROM n [RANGE 10 SECONDS];"
            + "CREATE QUERY so AS SELECT window_start, sum(d) AS d FROM o [RANGE 10 SECONDS];"
        )
        for second, x in ((1, 1), (9, 2), (31, 4), (29, 8), (60, 16)):
            ps.push("s", [row(second, "a", x)])
        ps.end("s")
        finish(ps)
        assert figures(ps, "so")["late_rows"] == figures(ps, "sn")["late_rows"] == 0
        at = [((r["window_start"] - BEGIN).seconds, r["d"]) for r in results(ps, "sn").to_pylist()]
        assert at == [(0, 1), (20, 6), (30, -4), (60, 12)]
        at = [((r["window_start"] - BEGIN).seconds, r["d"]) for r in results(ps, "so").to_pylist()]
        assert at == [(0, 7), (20, -4), (30, 12)]


def test_a_slope_over_time_is_per_second(spark: SparkSession, tmp_path: Path) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.sql(STREAM + "CREATE QUERY q AS SELECT aslope(x, ts) AS v, adiff(ts) AS t FROM s;")
        ps.push("s", [row(0, "a", 1), row(4, "a", 3), row(4, "a", 5)])
        ps.end("s")
        finish(ps)
        found = [tuple(each.values()) for each in results(ps, "q").to_pylist()]
        assert found == [(0.5, timedelta(seconds=4)), (None, timedelta(0))]
