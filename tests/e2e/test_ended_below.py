"""A query over another one gets all rows, however early the one below has delivered its own."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.plan.operators import key
from penstock.runtime.loop.supervisor import Settings
from penstock.schedule import ReadyUnit, RoundRobin
from penstock.schedule.choice import Choice
from tests.e2e.support import finish, results, write_json

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, n INT) TIMESTAMP BY ts FROM push();
CREATE QUERY below AS SELECT window_start AS w, count(*) AS c FROM s [RANGE 10 SECONDS];
CREATE QUERY beside AS SELECT window_start AS w, sum(n) AS c FROM s [RANGE 10 SECONDS] WHERE n > 1;
CREATE TABLE t FROM files(path => '{table}', format => 'json');
CREATE QUERY above AS SELECT w, c FROM below WHERE c NOT IN (SELECT k FROM t)
"""


def test_rows_that_wait_for_a_reader_outlive_the_query_that_made_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(strategy=Choice("round_robin"))
    rows = [{"ts": BEGIN + timedelta(seconds=n * 3), "n": n % 5} for n in range(20)]
    with penstock.connect(tmp_path / "home", spark=spark, settings=settings) as ps:
        ps.script(SCRIPT.format(table=write_json(tmp_path / "t.json", [{"k": 99}])))
        topology = ps.system.topology
        late = key(topology.queries["above"].root)
        monkeypatch.setattr(RoundRobin, "next", _after(lambda: "below" in topology.finished, late))
        ps.push("s", rows)
        ps.end("s")
        finish(ps)
        below, above = results(ps, "below"), results(ps, "above")
        assert sorted(below.to_pylist(), key=str) == sorted(above.to_pylist(), key=str)
        assert above.num_rows == 6


def _after(holds: Callable[[], bool], late: str) -> Callable[..., str | None]:
    """Return how round robin would choose if one unit had to wait until something holds."""
    choose = RoundRobin.next

    def next_(self: RoundRobin, ready: Sequence[ReadyUnit], now: float) -> str | None:
        return choose(self, [each for each in ready if each.key != late or holds()], now)

    return next_
