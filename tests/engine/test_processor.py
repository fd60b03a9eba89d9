from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

from penstock.engine.spark.analysis import SparkAnalyst
from penstock.engine.spark.application.session import Sessions, open_sessions
from penstock.engine.spark.jobs.processor import OF_PARTIALS, SINGLE_ROWS, Processor
from penstock.engine.trains.rows import (
    SMALL_ROWS,
    Rows,
    in_files,
    in_memory,
    laid_together,
    write_parquet,
)
from penstock.engine.trains.types import arrow_schema
from penstock.errors import RunError
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime, Scan, key, table_view
from penstock.plan.operators.graph import Graph
from penstock.plan.relations.sources import Source, StreamSource, TableSource
from penstock.plan.select.bind import Binder
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.sql import parse_select

pytestmark = pytest.mark.spark

SLOW = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = Schema((Column("ts", "timestamp"), Column("k", "string"), Column("n", "int")))
SCAN = Scan("s", 1, SCHEMA, (EventTime("ts"),))
OTHER = Scan("t", 2, SCHEMA, (EventTime("ts"),))
ROADS = Schema((Column("id", "int"), Column("name", "string")))
KNOWN: dict[str, Source] = {
    "s": StreamSource(SCAN),
    "t": StreamSource(OTHER),
    "roads": TableSource("roads", 3, ROADS),
}


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> Sessions:
    sessions = open_sessions(spark=spark)
    roads = pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["one", "two"]})
    for session in (sessions.small, sessions.large, sessions.analysis):
        session.createDataFrame(roads).createOrReplaceTempView(table_view("roads", 3))
    return sessions


@pytest.fixture
def processor(sessions: Sessions, tmp_path: Path) -> Processor:
    """Give one that asks Spark, however few rows there are."""
    return Processor(sessions, tmp_path, driver_rows=0)


def at_start(unit: Unit) -> tuple[int, int]:
    """Return the number of the window that starts with START, as the first and the last."""
    assert unit.aggregate is not None
    number = int(START.timestamp()) * 1_000_000 // unit.aggregate.assigner.lower
    return number, number


@pytest.fixture
def unit_of(sessions: Sessions) -> Callable[[str], Unit]:
    def unit(select: str) -> Unit:
        binder = Binder(KNOWN.get, SparkAnalyst(sessions.analysis))
        (unit,) = cut_at_shared(Graph({"q": binder.bind(parse_select(select))}))
        return unit

    return unit


def rows(first: int, count: int, text: str = "x") -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        [[START + timedelta(seconds=n) for n in numbers], [text] * count, list(numbers)],
        schema=arrow_schema(SCHEMA),
    )


def spilled(table: pa.Table, directory: Path) -> Rows:
    held = in_memory(table)
    held.leave_memory(directory)
    return held


def both(table: pa.Table, directory: Path) -> Rows:
    held = in_memory(table)
    held.to_disk(directory)
    return held


def given_files(table: pa.Table, directory: Path) -> Rows:
    """Hold the rows in several files, as a source of files does."""
    step = max(1, table.num_rows // 3)
    pieces = [table.slice(at, step) for at in range(0, table.num_rows, step)]
    return in_files([write_parquet(piece, directory) for piece in pieces], owned=False)


WAYS = {"memory": lambda table, _: in_memory(table), "disk": spilled, "both": both}


def jobs(spark: SparkSession, work: Callable[[], object]) -> int:
    """Return how many Spark jobs the work ran."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()  # what listeners hear comes later
    before = scheduler.numTotalJobs()
    work()
    return int(scheduler.numTotalJobs() - before)


# -- flows ---------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from(sorted(WAYS))), min_size=1, max_size=4)
)
@settings(SLOW, max_examples=8)
def test_a_flow_gives_the_same_rows_in_the_same_order_wherever_its_trains_lie(
    processor: Processor, unit_of: Callable[[str], Unit], trains: list[tuple[int, str]]
) -> None:
    held, first, expected = [], 0, []
    for size, way in trains:
        held.append(WAYS[way](rows(first, size), processor.spill))
        expected += [n * 2 for n in range(first, first + size) if n % 3]
        first += size
    unit = unit_of("SELECT n * 2 AS m, ts FROM s WHERE n % 3 <> 0")
    found = processor.flow(unit, {key(SCAN): held})
    assert found["m"].to_pylist() == expected
    assert found.schema == arrow_schema(unit.root.schema)


@pytest.mark.parametrize("way", sorted(WAYS))
def test_wide_trains_keep_their_order_too(
    processor: Processor, unit_of: Callable[[str], Unit], way: str
) -> None:
    """Few rows and many bytes: too much for a local relation, run together all the same."""
    held = [
        WAYS[way](rows(0, 2), processor.spill),
        WAYS[way](rows(2, 6, "y" * (1 << 20)), processor.spill),
        WAYS[way](rows(8, 2), processor.spill),
        WAYS[way](rows(10, 8, "z" * (1 << 20)), processor.spill),
    ]
    found = processor.flow(unit_of("SELECT n, length(k) AS l FROM s"), {key(SCAN): held})
    assert found["n"].to_pylist() == list(range(18))


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_large_train_gives_what_a_small_one_gives(
    processor: Processor, unit_of: Callable[[str], Unit], way: str
) -> None:
    count = SMALL_ROWS + 5
    unit = unit_of("SELECT n, k FROM s WHERE n % 7 = 0")
    found = processor.flow(unit, {key(SCAN): [WAYS[way](rows(0, count), processor.spill)]})
    assert found["n"].to_pylist() == list(range(0, count, 7))
    assert found.schema == arrow_schema(unit.root.schema)


def test_a_train_of_several_files_is_one_scan_with_all_rows(
    processor: Processor, unit_of: Callable[[str], Unit], tmp_path: Path
) -> None:
    held = given_files(rows(0, 30), tmp_path)
    assert len(held.paths) == 3
    found = processor.flow(unit_of("SELECT n FROM s WHERE n >= 0"), {key(SCAN): [held]})
    assert sorted(found["n"].to_pylist()) == list(range(30))
    assert all(path.exists() for path in held.paths)


def test_a_unit_over_two_streams_reads_both(
    processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT ts, n FROM s WHERE n > 0 UNION ALL SELECT ts, n FROM t")
    one, two = in_memory(rows(0, 3)), in_memory(rows(10, 2))
    both_sides = processor.flow(unit, {key(SCAN): [one], key(OTHER): [two]})
    assert both_sides["n"].to_pylist() == [1, 2, 10, 11]
    alone = processor.flow(unit, {key(SCAN): [], key(OTHER): [two]})
    assert alone["n"].to_pylist() == [10, 11]
    large = spilled(rows(0, SMALL_ROWS + 1), processor.spill)
    mixed = processor.flow(unit, {key(SCAN): [large], key(OTHER): [two]})
    assert sorted(mixed["n"].to_pylist()) == sorted([*range(1, SMALL_ROWS + 1), 10, 11])


def test_an_empty_train_between_others_hides_nothing(
    processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    held = [in_memory(each) for each in (rows(0, 1), rows(1, 0), rows(1, 1), rows(2, 0))]
    found = processor.flow(unit_of("SELECT n FROM s WHERE n >= 0"), {key(SCAN): held})
    assert found["n"].to_pylist() == [0, 1]


def test_a_table_is_joined_in_small_and_in_large(
    processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT s.n, r.name FROM s LEFT JOIN roads r ON s.n = r.id")
    small = processor.flow(unit, {key(SCAN): [in_memory(rows(0, 3))]})
    assert small.to_pylist() == [
        {"n": 0, "name": None},
        {"n": 1, "name": "one"},
        {"n": 2, "name": "two"},
    ]
    large = processor.flow(unit, {key(SCAN): [in_memory(rows(0, SMALL_ROWS + 1))]})
    assert large.slice(0, 3).equals(small)
    assert large.num_rows == SMALL_ROWS + 1


# -- nothing at all ------------------------------------------------------------------------


@pytest.mark.parametrize("held", [[], [rows], "disk"], ids=["no trains", "no rows", "on disk"])
def test_of_nothing_comes_nothing_and_no_job_runs(
    spark: SparkSession,
    processor: Processor,
    unit_of: Callable[[str], Unit],
    held: object,
) -> None:
    trains = [in_memory(rows(0, 0))] if held else []
    if held == "disk":
        trains = [spilled(rows(0, 0), processor.spill)]
    flow = unit_of("SELECT n * 2 AS m FROM s")
    count = unit_of("SELECT count(*) AS c FROM s [RANGE 10 SECONDS]")
    found: list[object] = []

    def work() -> None:
        found.append(processor.flow(flow, {key(SCAN): trains}))
        found.append(processor.panes(count, {key(SCAN): trains}))
        found.append(processor.close(count, [], (0, 0)))

    assert jobs(spark, work) == 0
    nothing, no_panes, no_windows = found
    assert nothing.num_rows == no_windows.num_rows == 0  # type: ignore[attr-defined]
    assert nothing.schema == arrow_schema(flow.root.schema)  # type: ignore[attr-defined]
    assert no_panes is None


# -- what it costs -------------------------------------------------------------------------


def test_a_small_flow_runs_no_job(
    spark: SparkSession, processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT n * 2 AS m, upper(k) AS k FROM s WHERE n > 3")
    held = {key(SCAN): [in_memory(rows(0, 10)), in_memory(rows(10, 10))]}
    assert jobs(spark, lambda: processor.flow(unit, held)) == 0


def test_an_aggregate_runs_one_job_for_panes_and_one_for_a_close(
    spark: SparkSession, processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT k, sum(n) AS s FROM s [RANGE 10 SECONDS] GROUP BY k")
    held = {key(SCAN): [in_memory(rows(0, 10))]}
    made: list[pa.Table] = []
    assert jobs(spark, lambda: made.append(processor.panes(unit, held))) == 1
    parts = [in_memory(each) for each in made]
    assert jobs(spark, lambda: made.append(processor.close(unit, parts, at_start(unit)))) == 1
    assert made[-1].to_pylist() == [{"k": "x", "s": 45}]


def test_what_arrow_answers_needs_no_job(
    spark: SparkSession, sessions: Sessions, tmp_path: Path, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT k, sum(n) AS s FROM s [RANGE 10 SECONDS] GROUP BY k")
    processor, held = Processor(sessions, tmp_path), {key(SCAN): [in_memory(rows(0, 10))]}
    made: list[pa.Table] = []
    assert jobs(spark, lambda: made.append(processor.panes(unit, held))) == 0
    parts = [in_memory(each) for each in made]
    assert jobs(spark, lambda: made.append(processor.close(unit, parts, at_start(unit)))) == 0
    assert made[-1].to_pylist() == [{"k": "x", "s": 45}]


def test_of_partials_arrow_answers_more_than_of_tuples(
    spark: SparkSession, sessions: Sessions, tmp_path: Path, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT n, count(*) AS c FROM s [RANGE 10 SECONDS] GROUP BY n")
    processor = Processor(sessions, tmp_path, driver_rows=2)
    partials = processor.panes(unit, {key(SCAN): [in_memory(rows(0, 10))]})
    assert partials is not None
    few, many = partials.slice(0, OF_PARTIALS), laid_together([partials] * 2)
    for some, asked in ((few, 0), (many, 1)):
        parts = [in_memory(some)]
        assert jobs(spark, lambda p=parts: processor.compact(unit, p)) == asked
        assert jobs(spark, lambda p=parts: processor.close(unit, p, at_start(unit))) == asked


@pytest.mark.parametrize("driver_rows", [0, 1_000])
def test_many_rows_of_windows_come_by_time_and_the_same_way_again(
    sessions: Sessions,
    tmp_path: Path,
    unit_of: Callable[[str], Unit],
    monkeypatch: pytest.MonkeyPatch,
    driver_rows: int,
) -> None:
    unit = unit_of("SELECT window_start, n, count(*) AS c FROM s [RANGE 10 SECONDS] GROUP BY n")
    processor, (first, _) = Processor(sessions, tmp_path, driver_rows=driver_rows), at_start(unit)
    tuples = rows(0, 100).take(np.random.default_rng(7).permutation(100))
    parts = [processor.panes(unit, {key(SCAN): [in_memory(tuples)]}) for _ in range(2)]
    monkeypatch.setattr("penstock.engine.spark.jobs.processor.SMALL_ROWS", 10)
    held = [in_memory(part) for part in parts if part is not None]
    found = processor.close(unit, held, (first, first + 1_000))
    on_disk = [spilled(each.table, processor.spill) for each in held]
    assert processor.close(unit, on_disk, (first, first + 1_000)).equals(found)
    assert found.num_rows == 100
    assert set(found["c"].to_pylist()) == {2}
    starts = found["window_start"].to_pylist()
    assert starts == sorted(starts)


# -- aggregates in large -------------------------------------------------------------------


@pytest.mark.parametrize("count", [SMALL_ROWS + 1, SINGLE_ROWS // 2 + 1])
def test_a_large_aggregate_counts_every_row_once(
    processor: Processor, unit_of: Callable[[str], Unit], count: int
) -> None:
    unit = unit_of("SELECT n % 3 AS r, count(*) AS c, sum(n) AS s FROM s [RANGE 1 DAY] GROUP BY 1")
    table = rows(0, count)
    day = pa.array([START] * count, table.schema.field("ts").type)
    table = table.set_column(0, "ts", day)
    pieces = [in_memory(table.slice(0, 5)), in_memory(table.slice(5))]
    partials = processor.panes(unit, {key(SCAN): pieces})
    assert partials is not None
    found = processor.close(unit, [in_memory(partials)], at_start(unit)).to_pylist()
    assert {row["r"]: (row["c"], row["s"]) for row in found} == {
        r: (len(range(r, count, 3)), sum(range(r, count, 3))) for r in range(3)
    }


def test_partials_in_memory_on_disk_and_combined_lie_together(
    processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT n AS n, count(*) AS c FROM s [RANGE 1 DAY] GROUP BY n")
    count = SMALL_ROWS // 2 + 1
    parts = []
    for _ in range(2):
        partials = processor.panes(unit, {key(SCAN): [in_memory(rows(0, count))]})
        assert partials is not None
        parts.append(in_memory(partials))
    combined = in_memory(processor.compact(unit, parts))
    assert combined.count == count
    fresh = processor.panes(unit, {key(SCAN): [in_memory(rows(0, 2))]})
    for first in (combined, spilled(combined.table, processor.spill)):
        found = processor.close(unit, [first, in_memory(fresh)], at_start(unit))
        counts = dict(zip(found["n"].to_pylist(), found["c"].to_pylist(), strict=True))
        assert counts == {n: 3 if n < 2 else 2 for n in range(count)}


# -- files and failures --------------------------------------------------------------------


def test_what_was_written_for_one_run_is_gone_after_it(
    processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT n FROM s WHERE n % 2 = 0")
    small = [in_memory(rows(n * 10, 10)) for n in range(2)]
    large = spilled(rows(0, SMALL_ROWS + 1), processor.spill)
    kept = set(processor.spill.iterdir())
    processor.flow(unit, {key(SCAN): [*small, large]})
    assert set(processor.spill.iterdir()) == kept


def test_a_large_train_is_written_once_and_found_by_the_next_reader(
    processor: Processor, unit_of: Callable[[str], Unit]
) -> None:
    unit = unit_of("SELECT n FROM s WHERE n % 2 = 0")
    large = in_memory(rows(0, SMALL_ROWS + 1))
    for _ in range(2):
        processor.flow(unit, {key(SCAN): [large]})
        assert list(processor.spill.iterdir()) == list(large.paths)


@pytest.mark.parametrize("seed", range(3))
def test_spark_can_look_for_numbers_in_what_arrow_wrote(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    drawn = np.random.default_rng(seed)
    numbers = {
        "exponential": drawn.exponential(3.0, 12_000),
        "whole": drawn.integers(0, 1_000, 12_000),
        "words": [f"word {n % 100}" for n in range(12_000)],
    }
    frame = spark.read.parquet(str(write_parquet(pa.table(numbers), tmp_path)))
    for name, least in {"exponential": 1.0, "whole": 10, "words": "word 5"}.items():
        expected = sum(each > least for each in numbers[name])
        assert frame.where(col(name) > least).count() == expected


@pytest.mark.parametrize("count", [3, SMALL_ROWS + 1])
@pytest.mark.parametrize(
    "select",
    ["SELECT 1 / (n - 2) AS x FROM s", "SELECT max(1 / (n - 2)) AS x FROM s [RANGE 1 DAY]"],
)
def test_what_spark_cannot_compute_is_one_sentence(
    processor: Processor, unit_of: Callable[[str], Unit], select: str, count: int
) -> None:
    unit = unit_of(select)
    run = processor.flow if unit.aggregate is None else processor.panes
    with pytest.raises(RunError) as refused:
        run(unit, {key(SCAN): [in_memory(rows(0, count))]})
    assert refused.value.message.startswith("Division by zero")
    assert "\n" not in refused.value.message


def test_it_knows_how_many_tasks_run_at_once(processor: Processor, spark: SparkSession) -> None:
    assert processor.slots == spark.sparkContext.defaultParallelism


def test_whether_small_parts_are_on_disk_changes_no_order(
    processor: Processor,
) -> None:
    """Spark scans the largest file first; a replay may have fewer files."""

    def found(small: str) -> list[int]:
        ways = [(rows(0, 10), small), (rows(10, SMALL_ROWS + 1), "disk"), (rows(20_000, 50), small)]
        held = [WAYS[way](table, processor.spill) for table, way in ways]
        table = processor.select({"parts": (held, None)}, "SELECT n FROM parts", None, single=True)
        return table["n"].to_pylist()

    in_memory_only = found("memory")
    assert len(in_memory_only) == SMALL_ROWS + 61
    assert found("both") == found("disk") == in_memory_only
