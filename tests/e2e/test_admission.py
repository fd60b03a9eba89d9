"""EXPLAIN ESTIMATE tells what a query costs; one that would break a promise is not let in."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from penstock.qos.trend import Trend
from tests.e2e.support import PATIENCE, results, shown

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BODY = "AS SELECT ts, n * 2 AS d FROM s WHERE n % 3 = 0"


@pytest.fixture(scope="module")
def ps(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    home: Path = tmp_path_factory.mktemp("admission")
    with penstock.connect(home / "home", spark=spark) as connection:
        connection.sql("CREATE STREAM s (ts TIMESTAMP, n BIGINT) TIMESTAMP BY ts FROM push()")
        connection.sql(f"CREATE QUERY first {BODY}")
        for train in range(6):
            at = NOON + timedelta(seconds=train)
            connection.push("s", [{"ts": at, "n": n} for n in range(30)])
            until = time.monotonic() + PATIENCE
            while results(connection, "first").num_rows < 10 * (train + 1):
                assert time.monotonic() < until, shown(connection)
                time.sleep(0.05)
        quality = connection.system.supervisor.quality
        quality._next_look = float("inf")  # the stream goes on as it did, however long this takes
        quality._trends = {name: Trend(30.0) for name in connection.system.plant.feeds}
        yield connection


def test_an_estimate_of_a_query_that_runs_and_of_one_that_does_not(ps: Connection) -> None:
    told = ps.sql("EXPLAIN ESTIMATE first").message
    assert "1 of 1 units have run" in told
    assert "measured" in told
    new = ps.sql("EXPLAIN ESTIMATE SELECT ts FROM s WHERE n > 28").message
    assert "without it" in new
    assert " ms on average" in new
    created = "EXPLAIN ESTIMATE CREATE QUERY x WITH (max_latency => INTERVAL 2 SECONDS) "
    assert "max_latency 2.00 s" in ps.sql(created + BODY).message


def test_a_promise_that_cannot_be_kept_is_refused_with_figures_unless_forced(
    ps: Connection,
) -> None:
    hard = "WITH (max_latency => INTERVAL 0.001 SECONDS)"
    with pytest.raises(PenstockError, match=r"max_latency is 0\.001 s") as refused:
        ps.sql(f"CREATE QUERY hard {hard} {BODY}")
    assert "adds a load of" in refused.value.message
    assert "FORCE" in refused.value.hint
    assert ps.sql(f"CREATE QUERY hard {hard} FORCE {BODY}").message == "query hard runs"
    assert ps.sql(f"CREATE QUERY easy WITH (max_latency => INTERVAL 1 HOUR) {BODY}").message
    with pytest.raises(PenstockError, match="OR WAIT does not run yet"):
        ps.sql(f"CREATE QUERY later OR WAIT {BODY}")
