"""Queries that are suspended: they say so, count what they miss, and come back."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.runtime.quality.suspension import Orders
from tests.e2e.support import PATIENCE, figures, leave_alone, results, rows_of, until

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WHY = "the least load was 1.30, of 0.95 that there is room for"


@pytest.fixture
def opener(spark: SparkSession, tmp_path: Path) -> Callable[[], Connection]:
    def opened() -> Connection:
        connection = penstock.connect(tmp_path / "home", spark=spark, begin=False)
        leave_alone(connection)  # only what we order
        connection.begin()
        return connection

    return opened


@pytest.fixture
def ps(opener: Callable[[], Connection]) -> Iterator[Connection]:
    with opener() as connection:
        begin(connection)
        yield connection


def begin(ps: Connection) -> None:
    ps.sql(
        "CREATE STREAM s (ts TIMESTAMP, n BIGINT) TIMESTAMP BY ts FROM push();"
        "CREATE QUERY stays WITH (max_latency => INTERVAL 1 HOUR) AS SELECT n FROM s WHERE n >= 0;"
        "CREATE QUERY goes AS SELECT n + 0 AS n FROM s"
    )


def push(ps: Connection, *numbers: int) -> None:
    ps.push("s", [{"ts": NOON + timedelta(seconds=n), "n": n} for n in numbers])


def arrived(ps: Connection, query: str, *numbers: int) -> None:
    until(ps, lambda: results(ps, query).num_rows >= len(numbers))
    assert results(ps, query)["n"].to_pylist() == list(numbers)


def order(ps: Connection, *, suspend: str = "", recall: str = "") -> None:
    """Let the supervisor be told what quality of service may tell it."""
    suspending = ps.system.supervisor.quality.suspending
    orders = Orders({suspend: WHY} if suspend else {}, frozenset([recall] if recall else []))
    with ps.system.supervisor.resting():  # else one that is under way would take it for done
        suspending.orders = orders
    until(ps, lambda: not suspending.orders)


def qos(ps: Connection, query: str) -> dict[str, object]:
    return next(row for row in rows_of(ps.sql("SHOW QOS").table) if row["query"] == query)


def test_a_suspended_query_says_since_when_and_why_and_counts_what_it_misses(
    ps: Connection,
) -> None:
    with ps.subscribe("goes") as subscription:
        push(ps, 0, 1)
        arrived(ps, "goes", 0, 1)
        order(ps, suspend="goes")
        row = figures(ps, "goes")
        assert row["state"] == "SUSPENDED"
        assert row["cause"].startswith("since 20")
        assert WHY in row["cause"]
        push(ps, 2, 3, 4)
        arrived(ps, "stays", 0, 1, 2, 3, 4)
        told = qos(ps, "goes")
        assert told["missed_rows"] == 3
        assert told["suspended_since"] is not None
        assert rows_of(ps.sql("SHOW LOAD").table)[0]["suspended"] == 1
        order(ps, recall="goes")
        assert figures(ps, "goes")["state"] == "RUNNING"
        push(ps, 5)
        arrived(ps, "goes", 0, 1, 5)
        assert qos(ps, "goes")["missed_rows"] == 3
        came = [subscription.next(PATIENCE) for _ in range(3)]
        assert [row["n"] for row in came if row is not None] == [0, 1, 5]


def test_a_suspension_outlives_a_restart_and_numbers_go_on(
    opener: Callable[[], Connection],
) -> None:
    with opener() as ps:
        begin(ps)
        push(ps, 0)
        arrived(ps, "goes", 0)
        order(ps, suspend="goes")
        push(ps, 1, 2)
        arrived(ps, "stays", 0, 1, 2)
    with opener() as ps:
        assert figures(ps, "goes")["state"] == "SUSPENDED"
        assert WHY in figures(ps, "goes")["cause"]
        push(ps, 3)
        arrived(ps, "stays", 0, 1, 2, 3)
        assert qos(ps, "goes")["missed_rows"] == 3
        order(ps, recall="goes")
        push(ps, 4)
        arrived(ps, "goes", 0, 4)
    with opener() as ps:
        assert qos(ps, "goes")["missed_rows"] == 3
        assert results(ps, "goes")["n"].to_pylist() == [0, 4]


def test_a_user_may_resume_stop_or_drop_a_suspended_query(ps: Connection) -> None:
    order(ps, suspend="goes")
    assert "runs" in ps.sql("RESUME QUERY goes").message
    order(ps, suspend="goes")
    ps.sql("STOP QUERY goes")
    assert figures(ps, "goes")["state"] == "STOPPED"
    ps.sql("RESUME QUERY goes")
    order(ps, suspend="goes")
    ps.sql("DROP QUERY goes")
    assert not ps.system.topology.suspended
