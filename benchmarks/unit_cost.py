"""The fixed cost of one unit on a train of ten rows, beside a plain Spark job of the same kind."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

import penstock
from benchmarks.measurement import Effort, Outcome, median, quantile
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.state import Run
from penstock.engine.states.windows.aggregate import AggregateState
from penstock.engine.states.windows.kept_partials import part_of
from penstock.engine.states.windows.progress import Progress
from penstock.engine.trains.rows import Rows, in_memory
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan.operators import Project, TableJoin, walk

COLUMNS = ("what", "ms (median)", "ms (p90)", "Spark jobs", "of the plain job")
ROWS = 10
START = 1_767_225_600_000_000  # 2026-01-01
SECOND = 1_000_000

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v DOUBLE) TIMESTAMP BY ts
  SLACK INTERVAL 2 SECONDS FROM push();
CREATE TABLE names FROM files(path => '{names}', format => 'json');
CREATE QUERY flow AS SELECT k, v * 2 AS w FROM s WHERE v > 1;
CREATE QUERY windows AS
  SELECT k, window_start, sum(v) AS total, count(*) AS n, avg(v) AS mean
  FROM s [RANGE 10 SECONDS] GROUP BY k;
CREATE QUERY joined AS SELECT s.k, n.label, s.v FROM s JOIN names AS n ON s.k = n.k;
"""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to time, and the plain job that it is compared with."""

    name: str
    run: Callable[[pa.Table], object]
    beside: str = ""


def unit_cost(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure each step, the steps taking turns."""
    warm, measured = (2, 3) if effort.tiny else (40, 100) if effort.full else (25, 50)
    with _steps(spark, directory / uuid4().hex) as steps:
        jobs = {step.name: _jobs(spark, step) for step in steps}
        spent: dict[str, list[float]] = {step.name: [] for step in steps}
        for number in range(warm + measured):
            for step in steps:
                table = _train(number)
                began = time.perf_counter()
                step.run(table)
                if number >= warm:
                    spent[step.name].append(1000 * (time.perf_counter() - began))
    rows = [_line(step, spent, jobs[step.name]) for step in steps]
    title = f"The fixed cost of a unit on a train of {ROWS} rows"
    return Outcome("unit_cost", title, COLUMNS, rows, (), {"jobs": jobs, "milliseconds": spent})


def _line(step: Step, spent: dict[str, list[float]], jobs: int) -> list[str]:
    took = median(spent[step.name])
    ratio = f"{took / median(spent[step.beside]):.2f}x" if step.beside else ""
    return [step.name, f"{took:.1f}", f"{quantile(spent[step.name], 0.9):.1f}", str(jobs), ratio]


def _train(number: int) -> pa.Table:
    """Return ten rows that differ from train to train, as real ones do."""
    times = [START + number * SECOND + place for place in range(ROWS)]
    return pa.table(
        {
            "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "k": pa.array([f"k{place % 4}" for place in range(ROWS)]),
            "v": pa.array([number + place / 2 for place in range(ROWS)]),
        }
    )


@contextmanager
def _steps(spark: SparkSession, home: Path) -> Iterator[list[Step]]:
    names = home.with_suffix(".json")
    names.write_text("".join(f'{{"k": "k{n}", "label": "label {n}"}}\n' for n in range(4)))
    with penstock.connect(home, spark=spark) as connection:
        connection.script(SCRIPT.format(names=names))
        system = connection.system
        processor = Processor(system.sessions, system.home.spill)
        units = [live.unit for live in system.topology.units.values()]
        windows = next(unit for unit in units if unit.aggregate is not None)
        joins = [u for u in units if any(isinstance(node, TableJoin) for node in walk(u.root))]
        flows = [u for u in units if u not in (windows, *joins) and isinstance(u.root, Project)]

        def rows(table: pa.Table) -> dict[str, list[Rows]]:
            return {windows.inputs[0]: [in_memory(table)]}

        partials = processor.panes(windows, rows(_train(0)))
        assert partials is not None
        later = START + 20 * SECOND

        def state() -> AggregateState:
            """Return the state that a train has left behind."""
            found = AggregateState.alone(windows.aggregate)
            found.partials.parts = [part_of(partials)]
            return found

        progress = Progress(windows.aggregate.assigner)
        numbers = progress.closing(later, state().partials.spread())
        assert numbers is not None

        def whole(table: pa.Table) -> None:
            """Take a step as the runtime does, a state kept from before."""
            state().step(Run(processor, windows, rows(table), (later,), (BEGIN_OF_TIME,)))

        yield [
            Step("plain: filter and project, toArrow", lambda t: _plain_filter(spark, t)),
            Step("plain: group by, toArrow", lambda t: _plain_group(spark, t)),
            Step(
                "unit: filter and project",
                lambda t: processor.flow(flows[0], rows(t)),
                "plain: filter and project, toArrow",
            ),
            Step(
                "unit: join with a table",
                lambda t: processor.flow(joins[0], rows(t)),
                "plain: filter and project, toArrow",
            ),
            Step(
                "unit: partials of a tumbling aggregate",
                lambda t: processor.panes(windows, rows(t)),
                "plain: group by, toArrow",
            ),
            Step(
                "unit: a window closes",
                lambda _: processor.close(windows, [in_memory(partials)], numbers),
                "plain: group by, toArrow",
            ),
            Step(
                "unit: a whole run, partials and a window that closes",
                whole,
                "plain: group by, toArrow",
            ),
        ]


def _plain_filter(spark: SparkSession, table: pa.Table) -> pa.Table:
    return spark.createDataFrame(table).where("v > 1").selectExpr("k", "v * 2 AS w").toArrow()


def _plain_group(spark: SparkSession, table: pa.Table) -> pa.Table:
    frame = spark.createDataFrame(table)
    grouped = frame.groupBy("k").agg(F.sum("v"), F.count("*"), F.avg("v"))
    return grouped.toArrow()


GROUPS = itertools.count()


def _jobs(spark: SparkSession, step: Step) -> int:
    """Return how many Spark jobs one run takes."""
    context = spark.sparkContext
    group = f"unit-cost-{next(GROUPS)}"
    context.setJobGroup(group, step.name)
    try:
        step.run(_train(0))
    finally:
        context._jsc.clearJobGroup()
    return len(context.statusTracker().getJobIdsForGroup(group))
