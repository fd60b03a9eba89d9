"""Small trains answered in the driver give what Spark gives."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.engine.spark.application.session import open_sessions
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.trains.rows import in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.model.schema import Column, Schema
from penstock.plan.operators import Filter, Project, Scan, key
from penstock.plan.sharing.plain_steps import plain_steps
from penstock.plan.sharing.units import Unit
from tests.examples import examples

pytestmark = pytest.mark.spark

CARRIED = (Column("b", "boolean"), Column("t", "timestamp"), Column("i", "smallint"))
SCHEMA = Schema((Column("n", "bigint"), Column("v", "double"), Column("k", "string"), *CARRIED))
SCAN = Scan("s", 1, SCHEMA)
ENDS = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)]
NUMBERS = [0.0, -0.0, 1.5, -2.0, float("nan"), float("inf"), float("-inf"), 1e308, 5e-324]
WORDS = ["", "a", "A", "ä", "é", "\U0001f600", "\uffff", "ab"]
EARLIEST, LATEST = datetime(1800, 1, 1), datetime(9999, 12, 31)  # noqa: DTZ001  (hypothesis adds it)
ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from(ENDS),
        st.none() | st.sampled_from(NUMBERS) | st.floats(),
        st.none() | st.sampled_from(WORDS),
        st.none() | st.booleans(),
        st.none() | st.datetimes(EARLIEST, LATEST, timezones=st.just(UTC)),
        st.none() | st.sampled_from([0, 2**15 - 1, -(2**15)]),
    ),
    max_size=12,
)
COMPARED = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
CONDITIONS = st.one_of(
    st.builds(lambda c, x: f"`n` {c} {x}", COMPARED, st.sampled_from([0, 1, -1, 2**53])),
    st.builds(lambda c, x: f"`v` {c} {x}", COMPARED, st.sampled_from(["0", "1.5", "-2", "1E308"])),
    st.builds(lambda c, x: f"`k` {c} '{x}'", COMPARED, st.sampled_from(WORDS)),
    st.sampled_from(["`n` BETWEEN -1 AND 1", "`v` BETWEEN 0 AND 2", "`k` IN ('a', 'ä', '')"]),
)
VALUES = st.sampled_from(["`v`", "`V`", "`v` * 2", "`v` + 3", "`v` - 7", "`v` * 0"])


def _unit(conditions: list[str], value: str) -> Unit:
    named = (Column("n", "bigint"), Column("w", "double"), Column("k", "string"))
    carried = ((each.name, f"`{each.name}`") for each in CARRIED)
    schema, columns = (
        Schema((*named, *CARRIED)),
        (("n", "`n`"), ("w", value), ("k", "`k`"), *carried),
    )
    return Unit(Project(Filter(SCAN, tuple(conditions)), columns, schema), (SCAN,))


@settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=ROWS, conditions=st.lists(CONDITIONS, min_size=1, max_size=3), value=VALUES)
def test_the_driver_gives_the_rows_that_spark_gives(
    spark: SparkSession,
    tmp_path: Path,
    rows: list[tuple[object, ...]],
    conditions: list[str],
    value: str,
) -> None:
    columns = [list(each) for each in zip(*rows, strict=True)] or [[] for _ in SCHEMA.columns]
    arrays = [pa.array(v, f.type) for v, f in zip(columns, arrow_schema(SCHEMA), strict=True)]
    table = pa.Table.from_arrays(arrays, schema=arrow_schema(SCHEMA))
    unit, processor = _unit(conditions, value), Processor(open_sessions(spark=spark), tmp_path)
    inputs = {key(SCAN): [in_memory(table)]}
    assert plain_steps(unit) is not None
    sql = unit.rows_sql(processor.views(unit))
    leaves = processor.leaves(unit, inputs)
    by_spark = processor.select(leaves, sql, unit.root.schema, single=False)
    found = processor.flow(unit, inputs)
    assert found.schema.equals(by_spark.schema)
    assert list(map(repr, found.to_pylist())) == list(map(repr, by_spark.to_pylist()))
