"""EXPLAIN ESTIMATE tells what a query costs; one that would break a promise is not let in."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.clock import HandClock
from penstock.engine.trains.buffers import BufferBounds
from penstock.errors import PenstockError
from penstock.qos.load.load import load_of
from penstock.qos.load.network import HERE
from penstock.qos.load.trend import Trend
from tests.e2e.support import PATIENCE, figures, leave_alone, results, until

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BODY = "AS SELECT ts, n * 2 AS d FROM s WHERE n % 3 = 0"


@pytest.fixture(scope="module")
def ps(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    home: Path = tmp_path_factory.mktemp("admission")
    clock = HandClock(1000.0)  # what was measured is forgotten by and by: here no time passes
    with penstock.connect(home / "home", spark=spark, clock=clock) as connection:
        connection.sql("CREATE STREAM s (ts TIMESTAMP, n BIGINT) TIMESTAMP BY ts FROM push()")
        connection.sql(f"CREATE QUERY first {BODY}")
        for train in range(6):
            at = NOON + timedelta(seconds=train)
            connection.push("s", [{"ts": at, "n": n} for n in range(30)])
            many = 10 * (train + 1)
            until(connection, lambda many=many: results(connection, "first").num_rows >= many)
        leave_alone(connection)  # the stream goes on as it did, however long this takes
        forecast = connection.system.supervisor.quality.keeper.forecast
        forecast.trends = {name: Trend(30.0) for name in connection.system.topology.source_readers}
        load_is(connection, 0.1)  # whatever a run takes on this machine
        yield connection


def test_an_estimate_of_a_query_that_runs_and_of_one_that_does_not(ps: Connection) -> None:
    told = ps.sql("EXPLAIN ESTIMATE first").message
    assert "1 of 1 units have run" in told
    assert "measured" in told
    new = ps.sql("EXPLAIN ESTIMATE SELECT ts FROM s WHERE n > 28").message
    assert "without it" in new
    assert re.search(r" \d[\d.]* m?s on average", new)
    created = "EXPLAIN ESTIMATE CREATE QUERY x WITH (max_latency => INTERVAL 2 SECONDS) "
    assert "max_latency 2.00 s" in ps.sql(created + BODY).message


def test_a_promise_that_cannot_be_kept_is_refused_with_figures_unless_forced(
    ps: Connection,
) -> None:
    hard = "WITH (max_latency => INTERVAL 0.0001 SECONDS)"
    with pytest.raises(
        PenstockError, match="cannot be kept: the query's own units take"
    ) as refused:
        ps.sql(f"CREATE QUERY hard {hard} {BODY}")
    assert "exact answers and a max_latency of 0.0001 s" in refused.value.message
    assert "FORCE" in refused.value.hint
    with pytest.raises(PenstockError, match="own units take"):
        ps.sql(f"CREATE QUERY hard {hard} OR WAIT {BODY}")  # waiting would not help it
    assert ps.sql(f"CREATE QUERY hard {hard} FORCE {BODY}").message == "query hard runs"
    assert ps.sql(f"CREATE QUERY easy WITH (max_latency => INTERVAL 1 HOUR) {BODY}").message
    ps.sql("DROP QUERY hard; DROP QUERY easy")


def test_buffers_that_would_be_too_small_refuse_a_query(ps: Connection) -> None:
    buffers, dear = ps.system.topology.buffers, "AS SELECT ts, n - 7 AS d FROM s"
    bounds, easy = buffers.bounds, "WITH (max_latency => INTERVAL 1 HOUR)"
    before = ps.system.admission.what_if().plan.estimate().memory_bytes
    buffers.bounds = BufferBounds(total_bytes=int(before) + 1)
    try:
        with pytest.raises(PenstockError, match="bytes would wait in buffers, there is room for"):
            ps.sql(f"CREATE QUERY wide {easy} {dear}")
    finally:
        buffers.bounds = bounds
    ps.sql(f"CREATE QUERY wide {easy} {dear}; DROP QUERY wide")


def load_is(ps: Connection, load: float) -> None:
    """Let the stream bring so much that what runs needs such a share of the slots."""
    forecast = ps.system.supervisor.quality.keeper.forecast
    with ps.system.supervisor.resting():
        now = load_of(ps.system.admission.what_if().network)[HERE]
        rates = {name: each.level * load / now for name, each in forecast.trends.items()}
        forecast.trends = {name: Trend(rate) for name, rate in rates.items()}


def test_who_may_wait_comes_in_when_there_is_room_in_order(ps: Connection) -> None:
    easy, dear = "WITH (max_latency => INTERVAL 1 HOUR) OR WAIT", "SELECT ts, {} AS d FROM s"
    ps.system.supervisor.quality.slots = 1  # a unit has the whole of it
    load_is(ps, 0.55)
    with pytest.raises(PenstockError, match="is not admitted") as refused:
        ps.sql(f"CREATE QUERY one {easy.removesuffix(' OR WAIT')} AS {dear.format('n - 1')}")
    assert "OR WAIT" in refused.value.hint
    told = ps.sql(f"CREATE QUERY one {easy} AS {dear.format('n - 1')}").message
    assert told.startswith("query one waits for room: it adds a load of")
    ps.sql(f"CREATE QUERY two {easy} AS {dear.format('n - 2')}")
    ps.sql(f"CREATE QUERY three {easy} AS {dear.format('n - 3')}")
    assert [figures(ps, name)["state"] for name in ("one", "two", "three")] == ["WAITING"] * 3
    assert "is left" in figures(ps, "two")["cause"]
    with ps.subscribe("one") as subscription:
        ps.sql("DROP QUERY three")
        assert list(ps.system.topology.waiting) == ["one", "two"]
        load_is(ps, 0.2)
        with ps.system.supervisor.resting():
            ps.system.checkpoints.due_at = 0.0
        until(ps, lambda: not ps.system.topology.waiting)
        assert figures(ps, "one")["state"] == figures(ps, "two")["state"] == "RUNNING"
        ps.push("s", [{"ts": NOON + timedelta(hours=1), "n": 1}])
        row = subscription.next(PATIENCE)
        assert row is not None
        assert row["d"] == 0


def test_who_waits_does_so_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        leave_alone(ps)  # nobody calls back whom we suspend
        ps.sql(
            "CREATE STREAM s (ts TIMESTAMP, n BIGINT) TIMESTAMP BY ts FROM push();"
            "CREATE QUERY stays WITH (max_latency => INTERVAL 1 HOUR) AS SELECT n FROM s;"
            "CREATE QUERY gone AS SELECT n + 1 AS n FROM s"
        )
        with ps.system.quiescence.quiesced():
            ps.system.suspension.suspend("gone", "there is too little room")
        told = ps.sql("CREATE QUERY late OR WAIT AS SELECT n + 2 AS n FROM s").message
        assert "gone had to be suspended" in told
        with pytest.raises(PenstockError, match="gone had to be suspended"):
            ps.sql("CREATE QUERY other AS SELECT n + 3 AS n FROM s")
    with penstock.connect(tmp_path / "home", spark=spark, begin=False) as ps:
        leave_alone(ps)
        ps.begin()
        assert figures(ps, "late")["state"] == "WAITING"
        assert ps.sql("RESUME QUERY late").message.startswith("query late runs")
        assert figures(ps, "late")["state"] == "RUNNING"
