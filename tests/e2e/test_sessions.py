"""Sessions in a running system: late tuples, restarts, what reads them."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.windows import session
from tests.e2e.reference.trial import LAW, each_train_alone
from tests.e2e.support import bag, figures, finish, results, rows_of, until

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


# -- at the gap itself -------------------------------------------------------------------

GAP, TICK = timedelta(seconds=5), timedelta(microseconds=1)
STEPS = (timedelta(0), TICK, GAP - TICK, GAP, GAP + TICK)
numbers = itertools.count()


@pytest.fixture(scope="module")
def alone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with each_train_alone(tmp_path_factory.mktemp("sessions") / "home", spark) as connection:
        yield connection


@st.composite
def arrivals(draw: st.DrawFn, slack: timedelta) -> list[dict[str, Any]]:
    """Draw tuples whose neighbours are about a gap apart, none behind by more than the slack."""
    behind = (timedelta(0), *((TICK, slack - TICK, slack) if slack else ()))
    row = st.tuples(st.sampled_from(STEPS), st.sampled_from(behind), st.sampled_from("ab"))
    drawn = draw(st.lists(row, min_size=6, max_size=14))
    clock = itertools.accumulate((step for step, _, _ in drawn), initial=BEGIN)
    return [
        {"ts": at - back, "k": k, "x": place}
        for place, (at, (_, back, k)) in enumerate(zip(clock, drawn, strict=False))
    ]


@pytest.mark.parametrize("slack", [timedelta(0), GAP], ids=str)
@LAW
@given(data=st.data())
def test_sessions_are_those_of_a_spark_batch_also_at_the_gap_itself(
    alone: Connection, spark: SparkSession, slack: timedelta, data: st.DataObject
) -> None:
    rows = data.draw(arrivals(slack))
    name = f"g{next(numbers)}"
    spark.createDataFrame(rows, "ts TIMESTAMP, k STRING, x INT").createOrReplaceTempView(name)
    asked = {
        f"{name}_{function}": f"SELECT session_window.start, session_window.end, {key} "
        f"{function}(x) AS v FROM {name} GROUP BY {key} session_window(ts, '5 seconds')"
        for function, key in (("sum", "k,"), ("median", ""))
    }
    alone.sql(
        f"CREATE STREAM {name} (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts "
        f"SLACK INTERVAL {slack.seconds} SECONDS FROM push(rows_per_train => 1)"
    )
    for query, text in asked.items():
        alone.sql(f"CREATE QUERY {query} AS {text}")
    alone.push(name, rows)
    alone.end(name)
    finish(alone)
    for query, text in asked.items():
        assert bag(results(alone, query)) == bag(spark.sql(text).toArrow()), text
        assert figures(alone, query)["late_rows"] == 0
        alone.sql(f"DROP QUERY {query}")
    alone.sql(f"DROP STREAM {name}")


@pytest.mark.parametrize("name", QUERIES)
def test_a_session_takes_tuples_until_the_watermark_is_behind_its_end(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.sql(f"{STREAM} CREATE QUERY q AS {QUERIES[name]};")
        # The watermark comes to 5 seconds, where the session of a ends: it is open, 0 in time.
        ps.push("s", [row(0, "a", 1), row(7, "b", 0)])
        settle(ps, "q", 2)
        assert found(ps, "q") == []
        ps.push("s", [row(5, "a", 3), row(0, "c", 5)])
        settle(ps, "q", 4)
        assert figures(ps, "q")["late_rows"] == 0
        # A microsecond later the session of c has ended, and so would those of all up to 0.
        ps.push("s", [row(7, "b", 0) | {"ts": BEGIN + 7 * timedelta(seconds=1) + TICK}])
        settle(ps, "q", 5)
        assert found(ps, "q") == [(0, 5, "c", 5)]
        ps.push("s", [row(0, "c", 100)])
        ps.end("s")
        finish(ps)
        assert figures(ps, "q")["late_rows"] == 1
        assert (0, 10, "a", 4 if name == "q" else 2) in found(ps, "q")
