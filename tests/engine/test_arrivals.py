"""Tuples keep the order of their arrival on their way into an Ordered, however they are held."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.engine.spark.application.session import open_sessions
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.state import Run
from penstock.engine.states.tuples.ordered import arrivals
from penstock.engine.trains.rows import Rows, in_files, in_memory, write_parquet
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan.operators import Filter, Ordered, Scan, key
from penstock.plan.sharing.units import Unit

pytestmark = pytest.mark.spark

SCAN = Scan("s", 1, Schema((Column("id", "bigint"),)))
# The second file is larger than the first: Spark would scan it first.
CUTS = ((0, 12_000), (12_000, 90_000), (90_000, 90_003), (90_003, 130_000))


def train(first: int, last: int, directory: Path, kind: str) -> Rows:
    table = pa.table({"id": pa.array(range(first, last), pa.int64())})
    if kind == "memory":
        return in_memory(table)
    paths = [write_parquet(table.slice(0, 5), directory), write_parquet(table.slice(5), directory)]
    return in_files(paths, owned=False)


@pytest.mark.parametrize("kind", ["memory", "files"])
@pytest.mark.parametrize("cuts", [CUTS, CUTS[1:2]], ids=["several trains", "one train"])
def test_order_survives_what_is_computed_below(
    spark: SparkSession, tmp_path: Path, kind: str, cuts: tuple[tuple[int, int], ...]
) -> None:
    ordered = Ordered(Filter(SCAN, ("id % 7 <> 3",)), "time")
    rows = {key(SCAN): [train(*cut, tmp_path, kind) for cut in cuts]}
    processor = Processor(open_sessions(spark=spark), tmp_path)
    marks = (BEGIN_OF_TIME,)
    run = Run(processor, Unit(ordered, (SCAN,), ordered), rows, marks, marks)
    found = arrivals(run)["id"].to_pylist()
    assert found == [i for first, last in cuts for i in range(first, last) if i % 7 != 3]
