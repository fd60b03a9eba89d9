"""SHOW PROPERTIES tells what streams are like."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.clock import HandClock
from penstock.runtime.sources import stream_monitor
from tests.e2e.support import rows_of, until

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_order_keys_and_lags_are_shown(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_monitor, "FREE_SECONDS", 600.0)  # to look may take long
    clock = HandClock(1000.0)
    with penstock.connect(tmp_path / "home", spark=spark, clock=clock) as ps:
        for name in ("a", "b", "silent"):
            ps.sql(
                f"CREATE STREAM {name} (ts TIMESTAMP, k STRING) TIMESTAMP BY ts "
                "SLACK INTERVAL 1 MINUTE FROM push()"
            )
        ps.sql(
            "CREATE QUERY both AS SELECT a.k FROM a [RANGE 1 MINUTE] JOIN b [RANGE 1 MINUTE] "
            "ON a.k = b.k"
        )
        order = [0, 1, 5, 2, 3, 4, 6, 7, 8, 8]
        rows = [{"ts": NOON + timedelta(seconds=n), "k": f"k{n % 3}"} for n in order]
        ps.push("a", rows)
        ps.push("b", rows[:2])
        until(ps, lambda: (looked_at(ps, "a"), looked_at(ps, "b")) == (10, 2))
        with ps.system.supervisor.resting():  # all that it took is counted
            clock.sleep(10)
            found, spent = told(ps), ps.system.supervisor.watching.spent
    one = found["a"]
    assert (one["scrambling"], one["multiplicity"], one["clock_jumps"]) == (3, 2, 0)
    assert (one["lag"], one["lag_to"]) == (8, "b")
    assert (one["key"], round(one["keys"])) == ("k", 3)
    assert found["b"]["lag"] == 0
    assert found["silent"]["tuples"] == 0
    assert found["silent"]["rate"] is None
    assert spent > 0
    assert one["cost"] == round(spent / 10, 4)  # a share of the time


def looked_at(ps: Connection, stream: str) -> object:
    return told(ps)[stream].get("looked_at")


def told(ps: Connection) -> dict[str, dict[str, object]]:
    return {row["stream"]: row for row in rows_of(ps.sql("SHOW PROPERTIES").table)}
