"""Sessions in a running system: late tuples, restarts, what reads them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states import session
from tests.e2e.support import figures, finish, results, rows_of, until

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
STREAM = (
    "CREATE STREAM s (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts SLACK INTERVAL 2 SECONDS "
    "FROM push(rows_per_train => 1);"
)
# A median is holistic: its sessions keep their tuples.
QUERIES = {
    name: f"SELECT window_start, window_end, k, {value} AS v "
    "FROM s [SESSION GAP 5 SECONDS] GROUP BY k"
    for name, value in (("q", "sum(x)"), ("m", "median(x)"))
}


def row(second: int, k: str, x: int) -> dict[str, object]:
    return {"ts": BEGIN + timedelta(seconds=second), "k": k, "x": x}


def seconds(at: datetime) -> int:
    return (at - BEGIN) // timedelta(seconds=1)


def found(ps: Connection, query: str) -> list[tuple[Any, ...]]:
    return [
        (seconds(r["window_start"]), seconds(r["window_end"]), r["k"], r["v"])
        for r in results(ps, query).to_pylist()
    ]


def settle(ps: Connection, query: str, count: int) -> None:
    until(ps, lambda: figures(ps, query)["rows_in"] >= count)


@pytest.mark.parametrize("name", QUERIES)
def test_a_tuple_whose_session_has_closed_is_late_and_kept(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.sql(f"{STREAM} CREATE QUERY q AS {QUERIES[name]};")
        ps.push("s", [row(0, "a", 1), row(20, "a", 4)])
        settle(ps, "q", 2)
        ps.push("s", [row(3, "a", 100), row(14, "a", 6), row(16, "a", 8)])
        ps.end("s")
        finish(ps)
        assert found(ps, "q") == [(0, 5, "a", 1), (14, 25, "a", 18 if name == "q" else 6)]
        assert figures(ps, "q")["late_rows"] == 1
        assert [each["x"] for each in rows_of(ps.sql("SELECT * FROM q.late").table)] == [100]


@pytest.mark.parametrize("name", QUERIES)
def test_a_restart_remembers_the_open_sessions(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(session, "COMPACT_PARTS", 2)
    for turn in range(4):
        with penstock.connect(tmp_path, spark=spark) as ps:
            if not turn:
                ps.sql(f"{STREAM} CREATE QUERY q AS {QUERIES[name]};")
            ps.push("s", [row(turn * 4, "a", turn), row(turn * 4 + 1, "b" * (turn + 1), turn)])
            if turn < 3:
                settle(ps, "q", (turn + 1) * 2)
                continue
            ps.end("s")
            finish(ps)
            assert found(ps, "q") == [
                (1, 6, "b", 0),
                (5, 10, "bb", 1),
                (9, 14, "bbb", 2),
                (0, 17, "a", 6 if name == "q" else 1.5),
                (13, 18, "bbbb", 3),
            ]


def test_a_window_over_sessions_goes_by_their_end(spark: SparkSession, tmp_path: Path) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.sql(
            f"{STREAM} CREATE QUERY q AS {QUERIES['q']};"
            "CREATE QUERY w AS SELECT window_start, count(*) AS n FROM q [RANGE 10 SECONDS];"
        )
        for second, k in ((0, "a"), (1, "b"), (4, "a"), (8, "a"), (12, "a"), (13, "c"), (40, "b")):
            ps.push("s", [row(second, k, 1)])
        ps.end("s")
        finish(ps)
        assert [(seconds(r["window_start"]), r["n"]) for r in results(ps, "w").to_pylist()] == [
            (0, 1),
            (10, 2),
            (40, 1),
        ]
        assert figures(ps, "w")["late_rows"] == 0
