"""Trains that tasks write: the rows, and the order, that the driver would have given."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from penstock.engine.spark.analysis import SparkAnalyst
from penstock.engine.spark.application.session import Sessions, open_sessions
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.trains.rows import SMALL_ROWS, Rows, in_memory, write_parquet
from penstock.engine.trains.times import span_of, span_of_rows
from penstock.engine.trains.train_files import LargeBound, Outlook
from penstock.engine.trains.types import arrow_schema
from penstock.errors import RunError
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime, Scan, key
from penstock.plan.operators.graph import Graph
from penstock.plan.relations.sources import StreamSource
from penstock.plan.select.bind import Binder
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.sql import parse_select

pytestmark = pytest.mark.spark

START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = Schema(
    (Column("ts", "timestamp"), Column("k", "string"), Column("n", "int"), Column("d", "date"))
)
SCAN = Scan("s", 1, SCHEMA, (EventTime("ts"),))
MANY, ANY = Outlook(1e9, 1e9, "unit-1"), LargeBound(0, 0)


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> Sessions:
    return open_sessions(spark=spark)


@pytest.fixture
def processor(sessions: Sessions, tmp_path: Path) -> Processor:
    return Processor(sessions, tmp_path / "spill", driver_rows=0, large=ANY)


@pytest.fixture
def unit_of(sessions: Sessions) -> Callable[[str], Unit]:
    def unit(select: str) -> Unit:
        binder = Binder({"s": StreamSource(SCAN)}.get, SparkAnalyst(sessions.analysis))
        (unit,) = cut_at_shared(Graph({"q": binder.bind(parse_select(select))}))
        return unit

    return unit


def rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        [
            [START + timedelta(seconds=n % 50) for n in numbers],
            [None if n % 5 == 0 else f"k{n % 7}" for n in numbers],
            list(numbers),
            [datetime(1500, 1, 1, tzinfo=UTC).date() for _ in numbers],
        ],
        schema=arrow_schema(SCHEMA),
    )


def written(sizes: Sequence[int], directory: Path) -> Rows:
    """Hold rows as tasks would have written them, numbered in their order."""
    paths, first = [], 0
    for size in sizes:
        paths.append(write_parquet(rows(first, size), directory))
        first += size
    return Rows(first, None, tuple(paths), in_order=True)


@pytest.mark.parametrize("sizes", [(1, SMALL_ROWS, 300), (400, 20, SMALL_ROWS + 1), (9_000, 9_001)])
def test_the_order_of_a_train_goes_through_flow_after_flow(
    sizes: Sequence[int], processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    """One scan of all files would begin with the largest."""
    held, unit = (
        written(sizes, processor.spill),
        unit_of("SELECT ts, k, n, d FROM s WHERE n % 3 <> 0"),
    )
    expected = [n for n in range(sum(sizes)) if n % 3]
    assert processor.flow(unit, {key(SCAN): [held]})["n"].to_pylist() == expected
    once = processor.train(unit, {key(SCAN): [held]}, MANY)
    assert isinstance(once, Rows)
    again = processor.train(unit, {key(SCAN): [once]}, MANY)
    assert isinstance(again, Rows)
    assert again.count == len(expected)
    assert len(again.paths) <= processor.slots
    table = again.to_table(unit.root.schema)
    assert table["n"].to_pylist() == expected
    assert table == rows(0, sum(sizes)).filter(
        pc.is_in(table_of(sizes)["n"], pa.array(expected, pa.int32()))
    )
    assert table.schema == arrow_schema(unit.root.schema)


def table_of(sizes: Sequence[int]) -> pa.Table:
    return rows(0, sum(sizes))


def test_the_driver_knows_of_rows_in_files_how_many_and_from_when_to_when(
    processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT ts, if(n % 2 = 0, ts, NULL) AS some, n FROM s WHERE n > 4")
    made = processor.train(unit, {key(SCAN): [in_memory(rows(0, 900))]}, MANY)
    assert isinstance(made, Rows)
    assert (made.count, made.memory_bytes) == (895, 0)
    assert made.disk_bytes == sum(path.stat().st_size for path in made.paths) > 0
    assert all(path.name.startswith("unit-1-") for path in made.paths)
    whole = made.to_table(unit.root.schema)
    for column in ("ts", "some"):
        assert span_of_rows(made, column) == span_of(whole, column) is not None
    made.delete()
    assert list(processor.spill.iterdir()) == []


def test_few_rows_of_many_come_to_the_driver_after_all(
    sessions: Sessions, tmp_path: Path, unit_of: Callable[[str], Unit]
) -> None:
    processor = Processor(sessions, tmp_path, driver_rows=0, large=LargeBound(100, 1 << 30))
    unit, held = unit_of("SELECT n, k FROM s WHERE n < 7"), [in_memory(rows(0, 500))]
    few = processor.train(unit, {key(SCAN): held}, Outlook(500, 0, "few"))
    assert isinstance(few, pa.Table)
    assert few["n"].to_pylist() == [*range(7)]
    assert few.schema == arrow_schema(unit.root.schema)
    none = processor.train(unit, {key(SCAN): [in_memory(rows(7, 300))]}, Outlook(300, 0, "none"))
    assert isinstance(none, pa.Table)
    assert not none.num_rows
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(("few", "none"))]


def test_below_the_bound_and_of_types_that_files_do_not_keep_nothing_is_written(
    sessions: Sessions, tmp_path: Path, unit_of: Callable[[str], Unit]
) -> None:
    processor = Processor(sessions, tmp_path, driver_rows=0, large=LargeBound(500, 1 << 30))
    held = {key(SCAN): [in_memory(rows(0, 500))]}
    plain = unit_of("SELECT n FROM s WHERE n >= 0")
    assert isinstance(processor.train(plain, held, Outlook(500, 0, "at")), pa.Table)
    assert isinstance(processor.train(plain, held, Outlook(501, 0, "above")), pa.Table | Rows)
    lasting = unit_of("SELECT n, ts - TIMESTAMP '2024-01-01' AS since FROM s WHERE n >= 0")
    assert isinstance(processor.train(lasting, held, MANY), pa.Table)


def test_a_job_that_fails_leaves_no_file(
    processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    held = {key(SCAN): [written((SMALL_ROWS, 10_000), processor.spill)]}
    before = set(processor.spill.iterdir())
    unit = unit_of("SELECT n, 1 DIV (n - 19999) AS broken FROM s WHERE n >= 0")
    with pytest.raises(RunError):
        processor.train(unit, held, MANY)
    assert set(processor.spill.iterdir()) == before


def test_windows_that_close_into_files_have_the_rows_and_the_order_of_the_short_way(
    processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of(
        "SELECT window_start, k, n % 900 AS g, count(*) AS c, max(n) AS m "
        "FROM s [RANGE 10 SECONDS] GROUP BY k, g"
    )
    assert unit.aggregate is not None
    partials = processor.panes(unit, {key(SCAN): [in_memory(rows(0, 4_000))]})
    assert partials is not None
    first = int(START.timestamp()) * 1_000_000 // unit.aggregate.assigner.lower
    numbers, parts = (first, first + 4), [in_memory(partials)]
    short = processor.close(unit, parts, numbers)
    large = processor.closed(unit, parts, numbers, MANY)
    assert isinstance(large, Rows)
    assert large.to_table(unit.root.schema) == short
    assert short.num_rows > 900
