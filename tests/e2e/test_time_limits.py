"""Nothing is waited for without end, and what is said of a failure fits it."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import ClosedError, RunError, TimedOutError
from penstock.functions import Items, stream_function
from penstock.model.functions.user_aggregates import UserAggregate
from penstock.runtime.loop.supervisor import Settings
from tests.e2e.support import figures, rows_of, until

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (ts TIMESTAMP, n INT) TIMESTAMP BY ts FROM push();"
FOREVER = "SELECT count(*) AS c FROM range(1000000000000) WHERE hash(id) % 7 = 3"


def _hangs(state: int, values: pa.Array) -> int:
    while len(values):
        time.sleep(0.1)
    return state


@stream_function(over="items")
def stuck(items: Items) -> Items:
    """Never return while there is something to do."""
    while len(items):
        time.sleep(0.1)
    return items


def _hanging() -> UserAggregate:
    functions: dict[str, Any] = {"init": lambda: 0, "merge": max, "finish": lambda state: state}
    types: dict[str, Any] = {"takes": ("int",), "state": "int", "returns": "int"}
    return UserAggregate("hangs", update=_hangs, **functions, **types)


def test_a_select_that_takes_too_long_is_given_up_and_its_job_cancelled(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = Settings(statement_seconds=3.0)
    with penstock.connect(tmp_path / "home", spark=spark, settings=settings) as ps:
        with pytest.raises(TimedOutError) as caught:
            ps.sql(FOREVER)
        assert "statement_timeout" in caught.value.hint
        ps.sql("SET statement_timeout = '10 minutes'")
        sums = rows_of(ps.sql("SELECT sum(id) AS s FROM range(10)").table)  # there is room again
        assert sums == [{"s": 45}]


def test_a_query_whose_run_takes_too_long_is_held_with_its_cause(
    spark: SparkSession, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"settings": Settings(run_seconds=3.0), "aggregates": [_hanging()]}
    with penstock.connect(tmp_path / "home", spark=spark, **given) as ps:
        ps.sql(f"{STREAM} CREATE QUERY q AS SELECT hangs(n) AS x FROM s [RANGE 1 SECOND]")
        ps.push("s", [{"ts": datetime(2026, 3, 1, tzinfo=UTC), "n": 1}])
        until(ps, lambda: figures(ps, "q")["state"] == "FAILED")
        assert "TIMED_OUT" in figures(ps, "q")["cause"]


def test_set_says_how_long_statements_and_runs_may_take(ps: Connection) -> None:
    ps.sql(f"{STREAM} CREATE QUERY reader AS SELECT n FROM s")
    ps.register(stuck)
    assert ps.sql("SET statement_timeout = NONE").message == "statement_timeout is none"
    ps.push("s", [{"ts": datetime(2026, 3, 1, tzinfo=UTC), "n": 1}])
    until(ps, lambda: figures(ps, "reader")["rows_out"] == 1)
    ps.sql("SET statement_timeout = '1 hour'; SELECT 1 AS x; SET statement_timeout = '2 seconds'")
    for select in (FOREVER, "SELECT * FROM stuck(s)"):
        with pytest.raises(TimedOutError) as caught:
            ps.sql(select)
        assert "SET statement_timeout" in caught.value.hint


def test_a_function_that_never_returns_holds_its_query_and_nobody_else(ps: Connection) -> None:
    ps.sql(f"{STREAM} SET run_timeout = INTERVAL 3 SECONDS")
    ps.register(stuck)
    ps.sql("CREATE QUERY q WITH (sites => 'driver') AS SELECT * FROM stuck(s)")
    ps.sql("CREATE QUERY fine AS SELECT n FROM s")
    ps.push("s", [{"ts": datetime(2026, 3, 1, tzinfo=UTC), "n": n} for n in range(1000)])
    until(ps, lambda: figures(ps, "q")["state"] == "FAILED")
    assert "TIMED_OUT" in figures(ps, "q")["cause"]
    assert "run_timeout" in figures(ps, "q")["cause"]
    until(ps, lambda: figures(ps, "fine")["rows_out"] == 1000)


@pytest.mark.parametrize(
    "call", ["space(2147483647)", "length(lpad('a', 2147483647, 'b'))", "repeat('ab', 1100000000)"]
)
def test_what_needs_more_memory_than_there_is_fails_at_once(ps: Connection, call: str) -> None:
    with pytest.raises(RunError) as caught:
        ps.sql(f"SELECT {call} AS x")
    assert "None" not in caught.value.message
    assert rows_of(ps.sql("SELECT 1 AS x").table) == [{"x": 1}]


def test_a_one_time_select_is_not_told_to_be_resumed(ps: Connection) -> None:
    with pytest.raises(RunError) as caught:
        ps.sql("SELECT 1 / 0 AS x")
    assert "RESUME" not in caught.value.hint


@pytest.mark.parametrize("text", ["SELECT nosuch(1)", "SELECT * FROM nosuch(1)", "SELECT a.b.c(1)"])
def test_an_unknown_function_is_told_by_its_name(ps: Connection, text: str) -> None:
    with pytest.raises(penstock.errors.UnknownFunctionError) as caught:
        ps.sql(text)
    assert caught.value.message in ("no function nosuch", "no function c")


def test_a_closed_connection_says_so_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    ps = penstock.connect(tmp_path / "home", spark=spark)
    ps.sql(STREAM)
    ps.close()
    ps.close()
    calls = (
        lambda: ps.sql("SELECT 1"),
        lambda: ps.sql("SHOW STREAMS"),
        lambda: ps.push("s", [{"n": 1}]),
        lambda: ps.end("s"),
        lambda: ps.punctuate("s", "n = 1"),
        lambda: ps.subscribe("q"),
        lambda: ps.wait(1),
        ps.begin,
    )
    for call in calls:
        with pytest.raises(ClosedError) as caught:
            call()
        assert "connect" in caught.value.hint
