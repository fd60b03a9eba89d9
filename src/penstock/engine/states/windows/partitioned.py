"""The partials of a large state: in partitions by a hash of their keys, and tasks' work only.

    tuples --made--> a part in partitions --closed--> rows in files
                        '--combined--> fewer files

A part in no partition was made in the driver, when the state was small or of few tuples. It is sent
to the partitions once such parts are many, and for every job that needs it before. The law: rows
are those that the driver would have made of the same partials (docs/decisions/0063).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.spark.jobs.partition_jobs import Branch, PartitionJobs, Views
from penstock.engine.spark.jobs.processor import Leaf, Made
from penstock.engine.spark.jobs.train_writer import RowOrder
from penstock.engine.states.parts import Part, crowded
from penstock.engine.states.state import Run
from penstock.engine.states.windows.kept_partials import KeptPartials
from penstock.engine.trains.partition_files import PartitionFiles, is_partitionable
from penstock.engine.trains.rows import COMPACT_PARTS, Rows, empty_table
from penstock.engine.trains.train_files import LargeBound, Outlook
from penstock.plan.operators.windows.window_aggregate import PANE, Numbers, WindowAggregate

PARTIALS, TOUCHED = "partials", "touched"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the partials of a state lie: in so many `partitions`, 0 for in the driver.

    While it `is_large`, what comes goes there as well. After that, its parts in partitions go with
    their windows, and nothing is in any once they are gone.
    """

    partitions: int = 0
    is_large: bool = False

    def after(
        self, parts: Sequence[Part], closing: Sequence[Part] | None, bound: LargeBound
    ) -> "Place":
        """Return the place once these are all parts, decided by what a replay finds again.

        A large state is so until windows close whose parts have not half of the bound.
        """
        rows, size = _count(parts), sum(part.size for part in parts)
        stays = self.is_large and (closing is None or 2 * _count(closing) > bound.rows)
        is_large = stays or bound.is_passed(Outlook(rows, size))
        is_needed = is_large or any(part.partitions for part in parts)
        return Place(self.partitions if is_needed else 0, is_large)


IN_DRIVER = Place()


def _count(parts: Sequence[Part]) -> int:
    return sum(part.rows.count for part in parts)


def may_partition(aggregate: WindowAggregate, parts: Sequence[Part]) -> bool:
    """Say whether the partials of an aggregate can be kept in partitions."""
    if aggregate.raw is not None or not aggregate.keys:
        return False
    return all(is_partitionable(_schema_of(part.rows)) for part in parts)


def _schema_of(rows: Rows) -> pa.Schema:
    return pq.read_schema(rows.paths[0]) if rows.table is None else rows.table.schema


def loose(parts: Sequence[Part]) -> list[Part]:
    """Return the parts that are in no partition."""
    return [part for part in parts if not part.partitions]


def is_much(parts: Sequence[Part], run: Run) -> bool:
    """Say whether parts in no partition are so many that they should be in one."""
    return _count(parts) > run.processor.large.rows or len(parts) >= COMPACT_PARTS


def panes_of(part: Part, before: int | None) -> pa.Table:
    """Return the panes of a part's partials, where there may be any `before` a place."""
    if before is None or part.first >= before:
        return pa.table({PANE: pa.array([], pa.int64())})
    return pa.concat_tables([pq.read_table(path, columns=[PANE]) for path in part.rows.paths])


@dataclass(frozen=True, slots=True)
class PartitionedPartials:
    """The jobs of one run of an aggregate alone, over `count` partitions."""

    run: Run
    aggregate: WindowAggregate
    count: int

    def made(self) -> Part | None:
        """Return the partials of the run's tuples, None without any."""
        run, processor = self.run, self.run.processor
        leaves = processor.leaves(run.unit, run.rows)
        return self._scattered(leaves, run.unit.pane_sql(processor.views(run.unit)), "made")

    def scattered(self, parts: Sequence[Part]) -> Part:
        """Return parts in no partition as one that is."""
        view = self.run.view("loose")
        leaves: dict[str, Leaf] = {view: ([part.rows for part in parts], None)}
        part = self._scattered(leaves, f"SELECT * FROM {view}", "loose")
        assert part is not None  # noqa: S101  (a part has rows)
        return part

    def combined(self, parts: Sequence[Part], collapse_before: int | None) -> Part:
        """Return one part in partitions for several of a level."""

        def sql_of(views: Views) -> str:
            return self.aggregate.compact_sql(views[PARTIALS], collapse_before)

        files = self._jobs.in_place(_branches(parts), sql_of, self._name("combined"))
        return _part(files, parts[0].level + 1)

    def tidy(self, kept: KeptPartials, collapse_before: int | None, *, is_large: bool) -> None:
        """Send parts to the partitions of a large state once they are many, and combine files."""
        if is_large and is_much(others := loose(kept.parts), self.run):
            kept.exchange(others, [self.scattered(others)])
        while parts := crowded([part for part in kept.parts if part.partitions]):
            kept.exchange(parts, [self.combined(parts, collapse_before)])

    def released(self, kept: KeptPartials, held: str, numbers: Numbers | None) -> Made:
        """Close windows of the groups that are `held` in a condition, and let go of these."""
        parts, nothing = kept.parts, empty_table(self.run.unit.root.schema)
        if not (theirs := self.where(parts, held)):
            return nothing
        made = nothing if numbers is None else self.closed(theirs, numbers, "final")
        kept.exchange(parts, self.where(parts, f"NOT coalesce({held}, false)"))
        kept.gone += theirs
        kept.delete_gone()
        return made

    def where(self, parts: Sequence[Part], condition: str) -> list[Part]:
        """Return the partials that fulfil a condition, as one part or none."""

        def sql_of(views: Views) -> str:
            return f"SELECT * FROM {views[PARTIALS]} WHERE {condition}"

        with self._in_partitions(parts) as whole:
            files = self._jobs.in_place(_branches(whole), sql_of, self._name("where"))
        return [_part(files, max(part.level for part in parts))] if files is not None else []

    def closed(
        self,
        parts: Sequence[Part],
        numbers: Numbers,
        emitted: str,
        touched: Sequence[Part] | None = None,
    ) -> Made:
        """Return the rows of windows; with `touched`, of those that these parts belong to."""
        unit, aggregate = self.run.unit, self.aggregate

        def sql_of(views: Views) -> str:
            names, marked = views[PARTIALS], views.get(TOUCHED)
            return aggregate.close_sql(names, numbers, emitted=emitted, touched=marked)

        times = [time.column for time in unit.root.times]
        order = None if unit.is_ordered else RowOrder(times, within=numbers[0] == numbers[1])
        with self._in_partitions(parts) as whole, self._in_partitions(touched or ()) as marks:
            branches = _branches(whole, marks if touched is not None else None)
            if not branches:
                return empty_table(unit.root.schema)
            return self._jobs.gathered(
                branches,
                sql_of,
                unit.above_sql,
                unit.root.schema,
                Outlook(name=self._name(emitted)),
                order,
            )

    @contextmanager
    def _in_partitions(self, parts: Sequence[Part]) -> Iterator[list[Part]]:
        """Give the parts with all rows in partitions, some of them only for a while."""
        found, others = [part for part in parts if part.partitions], loose(parts)
        if not others:
            yield found
            return
        sent = self.scattered(others)
        try:
            yield [*found, sent]
        finally:
            sent.rows.delete()

    def _scattered(self, leaves: Mapping[str, Leaf], sql: str, what: str) -> Part | None:
        keys = [name for name, _ in self.aggregate.keys]
        files = self._jobs.scattered(leaves, sql, keys, self.count, self._name(what))
        return None if files is None else _part(files, 0)

    @property
    def _jobs(self) -> PartitionJobs:
        return PartitionJobs(self.run.processor, self.run.view, PANE)

    def _name(self, what: str) -> str:
        return f"{self.run.outlook.name}-{what}"


def _part(files: PartitionFiles | None, level: int) -> Part:
    assert files is not None  # noqa: S101  (partials come of partials)
    return Part(files.rows, files.first, files.last, level, files.partitions)


def _branches(parts: Sequence[Part], touched: Sequence[Part] | None = None) -> dict[int, Branch]:
    """Return what each partition has; of those with nothing `touched`, nothing is asked."""
    whole = _by_partition(parts)
    if touched is None:
        return {number: {PARTIALS: rows} for number, rows in sorted(whole.items())}
    marks = _by_partition(touched)
    return {
        number: {PARTIALS: rows, TOUCHED: marks[number]}
        for number, rows in sorted(whole.items())
        if number in marks
    }


def _by_partition(parts: Sequence[Part]) -> dict[int, list[Rows]]:
    found: dict[int, list[Rows]] = {}
    for part in parts:
        for number, path in zip(part.partitions, part.rows.paths, strict=True):
            rows = Rows(part.rows.count, None, (path,), owned=False)
            found.setdefault(number, []).append(rows)
    return found
