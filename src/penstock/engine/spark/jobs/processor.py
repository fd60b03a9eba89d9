"""The processor: runs units as Spark jobs, Arrow in, Arrow out.

Every input becomes one leaf of the plan, however many trains it has: Arrow tables are
concatenated before they enter, files are read by one scan. What Arrow answers exactly as Spark does
over few rows needs no job (docs/decisions/0044).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.engine.arrow.answers import answer, is_answered
from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.jobs.lanes import JobLanes
from penstock.engine.spark.jobs.time_limit import TimeLimits
from penstock.engine.spark.jobs.train_writer import RowOrder, TrainWriter
from penstock.engine.spark.spark_errors import RESUME, run_error
from penstock.engine.trains.arrow_bridge import collect, collect_small
from penstock.engine.trains.join_memory import JoinMemory
from penstock.engine.trains.memory_budget import MemoryBudget
from penstock.engine.trains.rows import (
    SMALL_ROWS,
    Rows,
    empty_table,
    fit,
    is_small,
    laid_together,
    value_bytes,
    write_parquet,
)
from penstock.engine.trains.sort_order import in_order_of, sorted_rows
from penstock.engine.trains.train_files import (
    MOST_FILES,
    LargeBound,
    Outlook,
    is_storable,
    written_by,
)
from penstock.engine.trains.types import arrow_schema, spark_schema
from penstock.errors import TimedOutError
from penstock.model.own_names import own
from penstock.model.schema import Schema
from penstock.plan.operators.windows.window_aggregate import PANE
from penstock.plan.sharing.units import Unit

Leaf = tuple[Sequence[Rows], Schema | None]  # None: the rows' own schema holds
# What Python workers do to batches of rows, and the schema of what they return.
Work = tuple[Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], str]
Gathered: TypeAlias = "pa.Table | list[Rows]"
Made: TypeAlias = "pa.Table | Rows"  # rows in the driver, or in files that tasks wrote
Result = TypeVar("Result")
PARTIALS = "partials"
# An aggregate of so many rows over all slots is done sooner by one task without an exchange than
# by several with one; other units use the other slots meanwhile (docs/decisions/0007).
SINGLE_ROWS = 1_000_000
DRIVER_ROWS = 500_000  # that Arrow answers in a fifth of the time (docs/decisions/0044)
DRIVER_BYTES = 64 << 20  # of rows that Arrow answers in the driver
# Of more Spark is asked anyway; that its tasks write them takes 0.1 s more at half a million, and
# no more than the driver's way at two millions (docs/decisions/0062).
LARGE = LargeBound(DRIVER_ROWS, DRIVER_BYTES)
# So many times as many partials are combined there: the driver has made them, most of them are in
# its memory, and the rows that come of them must go there, too.
OF_PARTIALS = 8
LARGE_STATES = LargeBound(OF_PARTIALS * DRIVER_ROWS, 256 << 20)  # beyond it tasks keep partials


class Processor:
    """One Spark application; several units may run on it at once, each unit once at a time."""

    def __init__(
        self,
        sessions: Sessions,
        spill: Path,
        run_seconds: float | None = None,
        driver_rows: int = DRIVER_ROWS,
        large: LargeBound = LARGE,
        large_states: LargeBound = LARGE_STATES,
    ) -> None:
        """Write what is too large for a local relation below `spill`.

        Nothing that a run waits for may take longer than `run_seconds`; None is no limit. Of more
        than `driver_rows` Spark is always asked. Trains that will be `large` never come here, and
        neither does what is added to states above `large_states`.
        """
        self.large, self.large_states = large, large_states
        self._sessions, self.spill, self.run_seconds = sessions, spill, run_seconds
        self._driver_rows = driver_rows
        self.limits, self.room, self.joins = TimeLimits(), MemoryBudget(), JoinMemory()
        self._lanes = JobLanes(sessions.slots)

    @property
    def slots(self) -> int:
        """Return how many tasks run at once."""
        return self._sessions.slots

    def follow_cores(self) -> int:
        """Look how many tasks run at once now, and do as many pieces side by side."""
        before = self.slots
        found = self._sessions.look_up_slots()
        if found > before:
            lanes, self._lanes = self._lanes, JobLanes(found)
            lanes.close()
        return found

    @property
    def few_rows(self) -> int:
        """Return how many rows come to the driver whatever becomes of more."""
        return min(SMALL_ROWS, self.large.rows)

    @property
    def context(self) -> SparkContext:
        """Return Spark itself, for tasks that are no SELECT."""
        return self._sessions.large.sparkContext

    def side_by_side(self, works: Sequence[Callable[[], Result]]) -> list[Result]:
        """Do these, as many at once as there are slots, and return what they gave, in order."""
        if len(works) < 2:  # noqa: PLR2004  (nothing stands beside one)
            return [work() for work in works]
        return self._lanes.do(works)

    def in_time(self, work: Callable[[], Result]) -> Result:
        """Return what a part of a run gives, or raise TimedOutError."""
        try:
            return self.limits.within(self.run_seconds, self.context, work)
        except TimedOutError as error:
            self._lanes = JobLanes(self.slots)  # the others may be held up for good
            error.message += " (run_timeout)"
            error.hint = f"{RESUME}; SET run_timeout = '2 hours' allows more"
            raise

    def close_lanes(self) -> None:
        """End the workers."""
        self._lanes.close()
        self.limits.close()

    def flow(self, unit: Unit, inputs: Mapping[str, Sequence[Rows]]) -> pa.Table:
        """Return the output of a unit without an aggregate."""
        return self._over(unit, inputs, unit.rows_sql, unit.root.schema, single=False)

    def train(self, unit: Unit, inputs: Mapping[str, Sequence[Rows]], outlook: Outlook) -> Made:
        """Return the output of a unit without an aggregate, wherever it is best."""
        if not self.is_large(outlook, unit.root.schema):
            return self.flow(unit, inputs)
        sql = unit.rows_sql(self.views(unit))
        return self.written(self.leaves(unit, inputs), sql, unit.root.schema, outlook, None)

    def is_large(self, outlook: Outlook, schema: Schema, driver: int = 1) -> bool:
        """Say whether rows are expected to be so many that tasks should write them themselves.

        Those that Arrow could answer `driver` times as many of as usual have a bound as high.
        """
        return self.large.is_passed(outlook, driver) and is_storable(schema)

    def panes(
        self, unit: Unit, inputs: Mapping[str, Sequence[Rows]], *, ahead: int | None = None
    ) -> pa.Table | None:
        """Return the partials of the inputs' tuples, or None where there are none.

        `ahead` tells the runs apart that are at work for one unit at the same time.
        """
        if not any(rows.count for each in inputs.values() for rows in each):
            return None
        raw = unit.aggregate is not None and unit.aggregate.raw is not None
        leaves, sql = (
            self.leaves(unit, inputs, ahead=ahead),
            unit.pane_sql(self.views(unit, ahead=ahead)),
        )
        if raw:
            return self.select(leaves, sql, None, single=False)
        return self._partials(leaves, sql, 1)

    def close(
        self,
        unit: Unit,
        parts: Sequence[Rows],
        numbers: tuple[int, int],
        *,
        emitted: str = "final",
        touched: Sequence[Rows] | None = None,
    ) -> pa.Table:
        """Return the result rows of the windows of these numbers, the first and the last.

        With `touched`, only those of windows and keys that these partials belong to. Rows come by
        time, in an order that a replay gives again.
        """
        leaves, sql = _closing(unit, parts, numbers, emitted, touched)
        schema, times = unit.root.schema, [time.column for time in unit.root.times]
        if not any(rows.count for rows in parts):
            return empty_table(schema)
        found = self.in_driver(leaves, sql, OF_PARTIALS)
        table = self._by_spark(leaves, sql, single=True) if found is None else found
        table = fit(table, arrow_schema(schema))
        if unit.is_ordered:
            return table
        # Arrow's groups come in the order of their first partials; sorting many takes longer than
        # all else.
        if found is not None and table.num_rows > SMALL_ROWS:
            return in_order_of(table, times)
        return sorted_rows(table, times)

    def closed(
        self,
        unit: Unit,
        parts: Sequence[Rows],
        numbers: tuple[int, int],
        outlook: Outlook,
        *,
        emitted: str = "final",
        touched: Sequence[Rows] | None = None,
    ) -> Made:
        """Return what `close` does, wherever it is best."""
        if not self.is_large(outlook, unit.root.schema, OF_PARTIALS):
            return self.close(unit, parts, numbers, emitted=emitted, touched=touched)
        leaves, sql = _closing(unit, parts, numbers, emitted, touched)
        times = [time.column for time in unit.root.times]
        order = None if unit.is_ordered else RowOrder(times)
        return self.written(leaves, sql, unit.root.schema, outlook, order)

    def compact(
        self, unit: Unit, parts: Sequence[Rows], collapse_before: int | None = None
    ) -> pa.Table:
        """Return the same partials with equal keys and panes combined."""
        aggregate = unit.aggregate
        assert aggregate is not None  # noqa: S101  (only aggregates have partials)
        view = own(f"{unit.key}_{PARTIALS}")
        sql = aggregate.compact_sql(view, collapse_before)
        return self._partials({view: (parts, None)}, sql, OF_PARTIALS)

    def _partials(self, leaves: Mapping[str, Leaf], sql: str, driver: int) -> pa.Table:
        """Return partials, in an order that a replay gives again."""
        if (found := self.in_driver(leaves, sql, driver)) is not None:
            return found
        return sorted_rows(self._by_spark(leaves, sql, single=True), [PANE])

    def _over(
        self,
        unit: Unit,
        inputs: Mapping[str, Sequence[Rows]],
        sql_of: Callable[[Mapping[str, str]], str],
        schema: Schema | None,
        *,
        single: bool,
        ahead: int | None = None,
    ) -> pa.Table:
        sql = sql_of(self.views(unit, ahead=ahead))
        return self.select(self.leaves(unit, inputs, ahead=ahead), sql, schema, single=single)

    def views(self, unit: Unit, *, ahead: int | None = None) -> dict[str, str]:
        """Return the view of each of the unit's leaves, by the leaf's key."""
        prefix = own(f"{unit.key}_{'' if ahead is None else f'ahead{ahead}_'}")
        return {name: f"{prefix}{place}" for place, name in enumerate(unit.inputs)}

    def leaves(
        self, unit: Unit, inputs: Mapping[str, Sequence[Rows]], *, ahead: int | None = None
    ) -> dict[str, Leaf]:
        """Return what the unit's views show in a run over these rows."""
        views = self.views(unit, ahead=ahead)
        return {
            views[name]: (inputs[name], leaf.schema)
            for name, leaf in zip(unit.inputs, unit.leaves, strict=True)
        }

    def fits_tasks(self, rows: int, tasks: int = 1) -> bool:
        """Say whether so many rows are sooner done by one task a branch than by exchanging them."""
        return rows <= tasks * (SINGLE_ROWS // self.slots)

    def select(
        self,
        leaves: Mapping[str, Leaf],
        sql: str,
        schema: Schema | None,
        *,
        single: bool,
        branches: int = 1,
        wide: bool = False,
    ) -> pa.Table:
        """Run a SELECT over leaves; `single` spares an input that is not large the shuffle.

        A UNION ALL of several SELECTs over leaves of their own has so many `branches`, each a task.
        One that is `wide` has dozens of conditions for each tuple. One that does so much to each
        tuple that it pays to compile it is to be `compiled`, however few they are.
        """
        if schema is not None and not any(r.count for rows, _ in leaves.values() for r in rows):
            return empty_table(schema)
        table = self.in_driver(leaves, sql)
        if table is None:
            table = self._by_spark(leaves, sql, single=single, branches=branches, wide=wide)
        return fit(table, arrow_schema(schema)) if schema is not None else table

    def written(
        self,
        leaves: Mapping[str, Leaf],
        sql: str,
        schema: Schema,
        outlook: Outlook,
        order: RowOrder | None,
        *,
        single: bool = False,
    ) -> Made:
        """Have tasks write the rows of a SELECT; few of them come to the driver all the same.

        With `order`, a replay writes the same; without, they lie as the SELECT gives them. A task
        reads each leaf where they are `single`.
        """
        if not any(each.count for rows, _ in leaves.values() for each in rows):
            return empty_table(schema)
        few = self.few_rows
        files = partial(TrainWriter(schema, order, min(self.slots, MOST_FILES)).write, sql)

        def taken(session: SparkSession) -> Rows:
            write = partial(files, session)
            return self.in_time(lambda: written_by(write, self.spill, outlook.name, schema, few))

        rows = self.over_views(leaves, taken, single=single)
        return rows if rows.table is None else rows.table

    def mapped(self, leaves: Mapping[str, Leaf], sql: str, work: Work) -> pa.Table:
        """Return what Python workers make of the rows of a SELECT."""
        if (table := self.in_driver(leaves, sql)) is not None and table.num_rows:
            return _worked(table, work)
        return self._by_spark(leaves, sql, work=work)

    def _by_spark(
        self,
        leaves: Mapping[str, Leaf],
        sql: str,
        *,
        single: bool = False,
        branches: int = 1,
        wide: bool = False,
        work: Work | None = None,
    ) -> pa.Table:
        rows_in = sum(each.count for rows, _ in leaves.values() for each in rows)
        single = single and self.fits_tasks(rows_in, branches)
        gathered = {view: _gather(rows, known) for view, (rows, known) in leaves.items()}
        small = all(isinstance(each, pa.Table) and is_small(each) for each in gathered.values())
        large = self._sessions.wide if wide else self._sessions.large
        session = self._sessions.small if small else large

        def collected() -> pa.Table:
            result = session.sql(sql)
            if work is not None:
                result = result.mapInArrow(*work)
            return collect_small(result) if small and work is None else collect(result)

        return self._shown(session, gathered, leaves, lambda: self.in_time(collected), single)

    def over_views(
        self,
        leaves: Mapping[str, Leaf],
        take: Callable[[SparkSession], Result],
        *,
        single: bool = False,
    ) -> Result:
        """Do something in the session for large trains while its views show the leaves.

        A task reads each leaf where they are `single`.
        """
        session = self._sessions.large
        gathered = {view: _gather(rows, known) for view, (rows, known) in leaves.items()}
        return self._shown(session, gathered, leaves, lambda: take(session), single=single)

    def _shown(
        self,
        session: SparkSession,
        gathered: Mapping[str, Gathered],
        leaves: Mapping[str, Leaf],
        take: Callable[[], Result],
        single: bool,
    ) -> Result:
        """Do something while views show what was gathered of the leaves."""
        drafts: list[Path] = []
        try:
            for view, held in gathered.items():
                frame = self._frame(session, held, leaves[view][1], drafts)
                self._show(frame.coalesce(1) if single else frame, view)
            return take()
        except (PySparkException, Py4JError) as error:
            raise run_error(error) from error
        finally:
            for path in drafts:
                path.unlink(missing_ok=True)

    def in_driver(self, leaves: Mapping[str, Leaf], sql: str, driver: int = 1) -> pa.Table | None:
        """Return the rows of a SELECT by Arrow, or None where Spark has to be asked.

        It answers `driver` times as many rows as are few. Files are read only where it can be
        answered at all.
        """
        rows = [each for parts, _ in leaves.values() for each in parts]
        if not 0 < sum(each.count for each in rows) <= driver * self._driver_rows:
            return None
        known = {view: each for view, each in self._sessions.tables.items() if view in sql}
        schemas = {view: each.schema for view, each in known.items()}
        schemas |= {view: _schema_of(*leaf) for view, leaf in leaves.items()}
        if not is_answered(sql, schemas):
            return None
        # Packed rows may be more, and are never much less.
        if sum(each.size for each in rows if each.table is None) > driver * DRIVER_BYTES:
            return None
        tables = {view: _table(*leaf) for view, leaf in leaves.items()}
        if sum(map(value_bytes, tables.values())) > driver * DRIVER_BYTES:
            return None
        return answer(sql, known | tables)

    def _show(self, frame: DataFrame, view: str) -> None:
        """Register the frame as a view."""
        frame.createOrReplaceTempView(view)

    def _draft(self, table: pa.Table, drafts: list[Path]) -> list[Rows]:
        """Write a table to a file that lives only for this run."""
        drafts.append(write_parquet(table, self.spill))
        return [Rows(table.num_rows, None, (drafts[-1],))]

    def _frame(
        self,
        session: SparkSession,
        source: Gathered,
        schema: Schema | None,
        drafts: list[Path],
    ) -> DataFrame:
        """Return one leaf; files that live only for this run are added to `drafts`."""
        if isinstance(source, pa.Table) and not is_small(source):
            source = self._draft(source, drafts)
        if isinstance(source, pa.Table):
            # Spark stops reading at an empty chunk and loses what lies behind it.
            whole = source.combine_chunks()
            if schema is None:
                return session.createDataFrame(whole)
            return session.createDataFrame(whole, spark_schema(schema))
        # Which rows share a file, and so the order of a scan, must not depend on what was spilled,
        # or what a checkpoint has written: a replay may find less on disk, or more.
        loose, paths = [], list[Path]()
        for rows in source:
            if (table := _small_table(rows, schema)) is not None:
                loose.append(table)
                continue
            rows.to_disk(self.spill)  # the next run that reads these rows finds them there
            paths += rows.paths
        if loose:
            paths.append(write_parquet(laid_together(loose), self.spill))
            drafts.append(paths[-1])
        # A stated schema spares the job in which Spark would read the footers for it.
        known = from_arrow_schema(pq.read_schema(paths[0])) if schema is None else None
        reader = session.read.schema(known or spark_schema(schema or Schema()))
        if len(source) == 1 and source[0].in_order:
            # One scan of all would begin with the largest file.
            return reduce(DataFrame.unionAll, (reader.parquet(str(path)) for path in paths))
        return reader.parquet(*map(str, paths))


def _closing(
    unit: Unit,
    parts: Sequence[Rows],
    numbers: tuple[int, int],
    emitted: str,
    touched: Sequence[Rows] | None,
) -> tuple[dict[str, Leaf], str]:
    """Return the SELECT that closes windows, and the leaves that it reads."""
    view = own(f"{unit.key}_{PARTIALS}")
    leaves: dict[str, Leaf] = {view: (parts, None)}
    if touched is not None:
        leaves[f"{view}_touched"] = (touched, None)
    marked = f"{view}_touched" if touched is not None else None
    return leaves, unit.close_sql(view, numbers, emitted=emitted, touched=marked)


def _schema_of(rows: Sequence[Rows], known: Schema | None) -> pa.Schema:
    """Return the columns of a leaf, without reading it."""
    if known is not None:
        return arrow_schema(known)
    if not rows:
        return pa.schema([])
    return pq.read_schema(rows[0].paths[0]) if rows[0].table is None else rows[0].table.schema


def _table(rows: Sequence[Rows], known: Schema | None) -> pa.Table:
    """Return a leaf as one table."""
    if known is not None:
        return laid_together([empty_table(known), *(each.to_table(known) for each in rows)])
    tables = [
        each.table if each.table is not None else pa.concat_tables(map(pq.read_table, each.paths))
        for each in rows
    ]
    return laid_together(tables) if tables else pa.table({})


def _small_table(rows: Rows, schema: Schema | None) -> pa.Table | None:
    """Return rows of ours that are small, wherever they are; None for others."""
    if rows.table is not None or not rows.owned or rows.count > SMALL_ROWS:
        return rows.table if rows.is_small else None
    table = _table((rows,), schema)
    return table if is_small(table) else None


def _worked(table: pa.Table, work: Work) -> pa.Table:
    """Return what workers would make of a table, made here."""
    return pa.Table.from_batches(work[0](iter(table.combine_chunks().to_batches())))


def _gather(rows: Sequence[Rows], schema: Schema | None) -> Gathered:
    """Return one table where everything together has few rows, else the pieces.

    Spark scans the largest file first: rows in several files would not keep their order.
    """
    if schema is not None and sum(each.count for each in rows) <= SMALL_ROWS:
        return laid_together([empty_table(schema), *(each.to_table(schema) for each in rows)])
    tables = [each.table for each in rows]
    if all(table is not None for table in tables):
        whole = laid_together(tables)
        if is_small(whole):
            return whole
    return list(rows)
