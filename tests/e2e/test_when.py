"""[WHEN condition] in a running system: bounds, restarts, late tuples, what reads it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.windows import when
from penstock.errors import BadWindowError, TypeMismatchError, UnknownColumnError
from tests.e2e.support import figures, finish, results, rows_of, until

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
STREAM = (
    "CREATE STREAM s (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts SLACK INTERVAL 2 SECONDS "
    "FROM push(rows_per_train => 1);"
)


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path, spark=spark) as connection:
        yield connection


def row(second: int, k: str, x: int | None) -> dict[str, object]:
    return {"ts": BEGIN + timedelta(seconds=second), "k": k, "x": x}


def seconds(at: datetime) -> int:
    return (at - BEGIN) // timedelta(seconds=1)


def settle(ps: Connection, query: str, count: int) -> None:
    until(ps, lambda: figures(ps, query)["rows_in"] >= count)


def test_bounds_are_the_times_of_the_first_and_last_tuple(ps: Connection) -> None:
    ps.sql(
        f"{STREAM} CREATE QUERY q AS SELECT window_start, window_end, k, sum(x) AS v "
        "FROM s [WHEN last(s.x) > 3 AND count(*) > 1] WHERE x <> 0 GROUP BY k HAVING sum(x) > 2;"
    )
    ps.push("s", [row(0, "a", 9), row(1, "b", 1), row(3, "a", 0), row(2, "a", 2), row(4, "a", 4)])
    ps.push("s", [row(5, "b", 1), row(6, "a", 1), row(7, "a", 2)])
    ps.end("s")
    finish(ps)
    found = results(ps, "q").to_pylist()
    assert [
        (seconds(r["window_start"]), seconds(r["window_end"]), r["k"], r["v"]) for r in found
    ] == [
        (0, 4, "a", 15),
        (6, 7, "a", 3),
    ]


def test_without_times_bounds_are_numbers(ps: Connection) -> None:
    ps.sql(
        "CREATE STREAM u (x INT) FROM push(rows_per_train => 1); CREATE QUERY q AS "
        "SELECT window_start, window_end, first(x) AS f, last(x) AS l FROM u [WHEN sum(x) >= 5];"
    )
    ps.push("u", [{"x": x} for x in (3, 1, 1)])
    ps.push("u", [{"x": x} for x in (9, 2, None)])
    ps.end("u")
    finish(ps)
    assert [tuple(r.values()) for r in results(ps, "q").to_pylist()] == [
        (1, 3, 3, 1),
        (4, 4, 9, 9),
        (5, 6, 2, None),
    ]


def test_a_restart_remembers_open_windows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(when, "COMPACT_PARTS", 2)
    found: list[Any] = []
    for turn in range(5):
        with penstock.connect(tmp_path, spark=spark) as ps:
            if not turn:
                ps.sql(
                    f"{STREAM} CREATE QUERY q AS SELECT window_start, k, collect_list(x) AS v "
                    "FROM s [WHEN avg(x) >= 2 AND count(*) >= 2] GROUP BY k;"
                )
            ps.push("s", [row(turn * 10, "a", turn), row(turn * 10 + 1, "b" * turn, 1)])
            if turn < 4:
                settle(ps, "q", (turn + 1) * 2)
                continue
            ps.end("s")
            finish(ps)
            found = [
                (seconds(r["window_start"]), r["k"], r["v"]) for r in results(ps, "q").to_pylist()
            ]
    assert sorted(found) == [
        (0, "a", [0, 1, 2, 3, 4]),
        (1, "", [1]),
        (11, "b", [1]),
        (21, "bb", [1]),
        (31, "bbb", [1]),
        (41, "bbbb", [1]),
    ]


def test_late_tuples_are_kept_and_windows_above_close(ps: Connection) -> None:
    ps.sql(
        f"{STREAM} CREATE QUERY q AS SELECT window_end, count(*) AS n FROM s [WHEN count(*) >= 2];"
        "CREATE QUERY w AS SELECT window_start, sum(n) AS n FROM q [RANGE 10 SECONDS];"
    )
    ps.push("s", [row(0, "a", 1), row(9, "a", 1), row(20, "a", 1)])
    settle(ps, "q", 3)
    ps.push("s", [row(3, "a", 7), row(30, "a", 1), row(31, "a", 1)])
    ps.end("s")
    finish(ps)
    assert [seconds(r["window_end"]) for r in results(ps, "q").to_pylist()] == [9, 30, 31]
    above = [(seconds(r["window_start"]), r["n"]) for r in results(ps, "w").to_pylist()]
    assert above == [(0, 2), (30, 3)]
    assert figures(ps, "w")["late_rows"] == 0
    assert [r["x"] for r in rows_of(ps.sql("SELECT * FROM q.late").table)] == [7]


def test_what_makes_no_sense_is_refused(ps: Connection) -> None:
    ps.sql(STREAM)
    for condition, error in (
        ("median(x) > 3", BadWindowError),
        ("count(DISTINCT x) > 3", BadWindowError),
        ("count(*) > 3 AND x > 1", BadWindowError),
        ("sum(y) > 3", UnknownColumnError),
        ("sum(x)", TypeMismatchError),
    ):
        with pytest.raises(error):
            ps.sql(f"CREATE QUERY q AS SELECT count(*) AS n FROM s [WHEN {condition}]")
