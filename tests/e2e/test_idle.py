"""IDLE AFTER: the windows over a live and a silent stream close, or wait, as it is defined."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.clock import HandClock
from tests.e2e.support import results, stream_figures, until

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def push(ps: Connection, stream: str, second: int) -> None:
    ps.push(stream, [{"ts": NOON + timedelta(seconds=second)}])


def counts(ps: Connection) -> list[int]:
    found = results(ps, "counts")
    return found["c"].to_pylist() if found.num_rows else []


@pytest.mark.parametrize("clause", ["", "IDLE AFTER INTERVAL 30 SECONDS"])
def test_a_silent_stream_holds_windows_back_unless_it_may_be_idle(
    spark: SparkSession, tmp_path: Path, clause: str
) -> None:
    clock = HandClock(1000.0)
    with penstock.connect(tmp_path / "home", spark=spark, clock=clock) as ps:
        for name in ("live", "silent"):
            ps.sql(f"CREATE STREAM {name} (ts TIMESTAMP) TIMESTAMP BY ts {clause} FROM push()")
        ps.sql(
            "CREATE QUERY both AS SELECT ts FROM live UNION ALL SELECT ts FROM silent;"
            "CREATE QUERY counts AS SELECT window_start, count(*) AS c FROM both [RANGE 10 SECONDS]"
        )
        push(ps, "silent", 0)
        push(ps, "live", 1)
        until(ps, lambda: stream_figures(ps, "silent")["rows"] == 1)
        clock.sleep(29)
        push(ps, "live", 25)
        until(ps, lambda: results(ps, "both").num_rows == 3)
        assert results(ps, "counts").num_rows == 0
        clock.sleep(1)
        if clause:
            until(ps, lambda: counts(ps) == [2])
            assert stream_figures(ps, "silent")["state"] == "IDLE"
        else:
            clock.sleep(1000)
            push(ps, "live", 26)
            until(ps, lambda: results(ps, "both").num_rows == 4)
            assert results(ps, "counts").num_rows == 0
        push(ps, "silent", 41)
        push(ps, "live", 41)
        until(ps, lambda: sum(counts(ps)) == (3 if clause else 4))
        assert stream_figures(ps, "silent")["state"] == "OPEN"
