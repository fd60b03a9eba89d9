"""Benchmarks over files: sides give the batch query's rows, and Penstock's tells when."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from benchmarks.measurement import Effort, Outcome
from benchmarks.oblivious_join import oblivious_join
from benchmarks.penstock_side import create_stream, run_script
from benchmarks.readings import DDL, Readings, write_readings
from benchmarks.sliding import sliding
from benchmarks.tumbling import tumbling
from benchmarks.window_join import window_join
from tests.examples import NIGHTLY

ROWS, BATCHES = 20, 3
TOTAL = ROWS * BATCHES


@NIGHTLY  # it tries the benchmarks; other tests compare answers with Spark's
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("measure", [tumbling, sliding, window_join, oblivious_join])
def test_sides_agree_and_are_timed(
    spark: SparkSession, tmp_path: Path, measure: Callable[[SparkSession, Path, Effort], Outcome]
) -> None:
    effort = Effort(full=False, repetitions=1, tiny=True)
    found = measure(spark, tmp_path, effort)  # raises where rows differ
    assert [len(row) for row in found.rows] == [len(found.columns)]
    assert all(
        pace["rows_a_second"] > 0 for side in found.raw[0]["paces"].values() for pace in side
    )


def _run(spark: SparkSession, place: Path, select: str, said: list[pa.Table]) -> list[int]:
    """Run a query over small files; return how many rows had been worked through, run by run."""
    write_readings(Readings(place / "files", "parquet", ROWS, 5, BATCHES))
    script = create_stream("readings", DDL, place / "files") + f"CREATE QUERY q AS {select}"
    marks = run_script(spark, place / "home", script, total_rows=TOTAL, said=said)
    assert sorted(mark.at for mark in marks) == [mark.at for mark in marks]
    return [mark.rows for mark in marks]


@pytest.mark.spark
def test_a_watched_query_is_done_with_its_last_row(spark: SparkSession, tmp_path: Path) -> None:
    said: list[pa.Table] = []
    done = _run(spark, tmp_path, "SELECT k, v FROM readings", said)
    assert done == sorted(set(done))
    assert done[-1] == TOTAL
    assert sum(table.num_rows for table in said) == TOTAL


@pytest.mark.spark
def test_a_watched_query_that_fails_is_not_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="FAILED"):
        _run(spark, tmp_path, "SELECT CAST(k AS INT) AS n FROM readings", [])
