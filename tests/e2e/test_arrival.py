"""TIMESTAMP BY ARRIVAL: streams without a time have one, that of their coming."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.clock import HandClock
from penstock.errors import PenstockError
from tests.e2e.support import finish, results, rows_of, until

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
QUERY = (
    "CREATE QUERY q AS SELECT window_start, count(*) AS c, sum(n) AS total "
    "FROM s [RANGE 10 SECONDS]"
)


def test_windows_of_time_over_tuples_without_one_also_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    clock = HandClock(BEGIN.timestamp())
    with penstock.connect(tmp_path / "home", spark=spark, clock=clock) as ps:
        ps.sql("CREATE STREAM s (n BIGINT) TIMESTAMP BY ARRIVAL FROM push()")
        ps.sql("CREATE STREAM alarms (n BIGINT) TIMESTAMP BY ARRIVAL FROM push()")
        ps.sql(QUERY)
        ps.sql("CREATE QUERY all_of_it AS SELECT * FROM s")
        ps.sql("CREATE QUERY told AS SELECT n, arrival FROM alarms")
        ps.sql("CREATE RULE big ON s WHEN n > 4 DO INSERT INTO alarms SELECT n")
        for number, seconds in ((1, 0), (2, 4), (3, 8), (4, 0)):
            ps.push("s", [{"n": number}])
            until(ps, lambda number=number: results(ps, "all_of_it").num_rows == number)
            clock.sleep(seconds)
        until(ps, lambda: results(ps, "q").num_rows == 1)
        described = rows_of(ps.sql("DESCRIBE s").table)
        assert [row["column"] for row in described] == ["n", "arrival"]
        with pytest.raises(PenstockError, match="arrival"):
            ps.push("s", [{"n": 1, "arrival": BEGIN}])
    clock.sleep(60)
    with penstock.connect(tmp_path / "home", spark=spark, clock=clock) as ps:
        ps.push("s", [{"n": 5}])
        ps.end("s")
        finish(ps)
        windows = rows_of(results(ps, "q").sort_by("window_start"))
        assert [(row["window_start"] - BEGIN, row["c"], row["total"]) for row in windows] == [
            (timedelta(0), 3, 6),
            (timedelta(seconds=10), 1, 4),
            (timedelta(seconds=70), 1, 5),
        ]
        stamps = rows_of(results(ps, "all_of_it").sort_by("n"))
        seconds = [(row["arrival"] - BEGIN).total_seconds() for row in stamps]
        assert seconds == [0, 0, 4, 12, 72]
        told = rows_of(results(ps, "told"))
        assert [(row["n"], row["arrival"] - BEGIN) for row in told] == [(5, timedelta(seconds=72))]
