"""Which window of a landmark is the last depends on the stream alone, not on its trains."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e.support import finish, results

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROWS = [
    {"ts": BEGIN + timedelta(seconds=at), "n": n}
    for at, n in ((1, 1), (12, 1), (15, 0), (33, 0), (58, 0), (75, 0))
]
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, n INT) TIMESTAMP BY ts SLACK INTERVAL 10 SECONDS FROM push();
CREATE QUERY times AS SELECT window_end AS e, count(*) AS c
  FROM s [LANDMARK FROM TIMESTAMP '2026-03-01 12:00:00' EVERY 10 SECONDS] WHERE n = 1;
CREATE QUERY numbers AS SELECT window_end AS e, count(*) AS c
  FROM s [LANDMARK FROM 1 EVERY 1] WHERE n = 1
"""


def test_tuples_that_where_leaves_out_still_move_the_last_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    for rows_a_run in (1, 1000):
        settings, home = Settings(limits=RunLimits(aggregate_rows=rows_a_run)), str(rows_a_run)
        with penstock.connect(tmp_path / home, spark=spark, settings=settings, begin=False) as ps:
            ps.script(SCRIPT)
            for row in ROWS:
                ps.push("s", [row])
            ps.end("s")  # before anything flows: the end comes with the last tuples of a run
            ps.begin()
            finish(ps)
            times = {row["e"]: row["c"] for row in results(ps, "times").to_pylist()}
            numbers = {row["e"]: row["c"] for row in results(ps, "numbers").to_pylist()}
        ends = [BEGIN + timedelta(seconds=10 * number) for number in range(1, 9)]
        assert times == {end: 1 if end == ends[0] else 2 for end in ends}
        assert numbers == {1: 1, **dict.fromkeys(range(2, 7), 2)}
