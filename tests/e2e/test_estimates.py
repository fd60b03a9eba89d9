"""SHOW LOAD and EXPLAIN ESTIMATE of what runs: one number for one thing, as it was measured."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from tests.e2e.support import figures, rows_of, until

pytestmark = pytest.mark.spark

STREAM = """
    CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts SLACK INTERVAL 0.3 SECONDS
      FROM generator(rate => 1000, k => CAST(u1 * 10 AS INT));
    CREATE QUERY counted AS SELECT window_end, count(*) AS c FROM s [RANGE 1 SECOND];
"""
SECONDS = {"ms": 0.001, "s": 1.0}


def test_load_and_latency_of_what_runs_are_as_they_were_measured(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(STREAM)
        until(ps, lambda: figures(ps, "counted")["rows_out"] >= 4)
        shown = rows_of(ps.sql("SHOW LOAD").table)[0]
        told = ps.sql("EXPLAIN ESTIMATE counted").message
        meter = ps.system.topology.queries["counted"].meter
        measured = meter.latency_seconds / meter.timed_rows
        new = ps.sql("EXPLAIN ESTIMATE SELECT ts FROM s WHERE k = 3").message
    assert 0 < shown["load"] < 1
    load = re.search(r"load +([\d.]+) of", told)
    assert load is not None
    assert float(load[1]) == pytest.approx(shown["load"], rel=0.5, abs=0.01)
    assert _latency(told) == pytest.approx(measured, rel=0.5)  # later rows weigh more
    assert _latency(told) > 0.3  # the slack
    assert 0 < _latency(new) < _latency(told)  # a filter holds no rows
    assert re.search(r"load +[\d.]+ of .* without it, [\d.]+ with it", new)


def test_a_query_without_units_takes_nothing_and_may_come_in(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(STREAM)
        until(ps, lambda: figures(ps, "counted")["rows_out"] >= 1)
        ps.sql("CREATE QUERY plain WITH (max_latency => INTERVAL 5 SECONDS) AS SELECT ts, k FROM s")
        until(ps, lambda: figures(ps, "plain")["rows_out"] >= 1)
        assert "none of its own" in ps.sql("EXPLAIN ESTIMATE plain").message


def _latency(told: str) -> float:
    found = re.search(r"latency +([\d.]+) (m?s) on average", told)
    assert found is not None
    return float(found[1]) * SECONDS[found[2]]
