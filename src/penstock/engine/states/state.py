"""What a stateful operator keeps between runs, and what one run of it needs and gives.

State is rows (parts, append-only where that is possible) and a few facts. Nothing of it may have
changed when a run raises: the run is done again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

import pyarrow as pa

from penstock.engine.spark.jobs.processor import Leaf, Made, Processor
from penstock.engine.spark.jobs.train_writer import RowOrder
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import Rows, empty_table, in_memory
from penstock.engine.trains.sort_order import sorted_rows
from penstock.engine.trains.train_files import NOTHING_KNOWN, Outlook
from penstock.model.functions.time_outs import TimeOuts
from penstock.model.own_names import own
from penstock.model.schema import Schema
from penstock.plan.operators.gate import KEPT
from penstock.plan.sharing.units import Unit
from penstock.qos.shedding.worths import WorthCut


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided for a run before it happened, and what the clock decided while it did.

    It is recorded, so that the run can be done again: `keeps` and `cut` are what a gate keeps of
    each train, and where one that drops by worth cuts; `time_outs` is what the clock decided in a
    run that is done again, None where that is to be decided.
    """

    keeps: tuple[float, ...] = ()
    cut: WorthCut | None = None
    time_outs: TimeOuts | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a unit: the rows of its leaves, and the watermarks after them.

    `marks` are those of the stateful operator's inputs, in their order, and `before` the same
    ahead of the run. `ahead` are partials of these rows that were computed already, `shared` those
    of each section of a bundle. Unless `thinned`, no gate below has dropped any of the rows. `lane`
    tells parts of a run apart that are at work at the same time. `note` is told what the clock
    decides, where that is not `decided`. `trains` are what the rows came in, without history.
    `high` is the latest place of a tuple of the only leaf, on the axis of its first event time.
    `outlook` is what may come of the run: rows that will be many stay out of the driver.
    """

    processor: Processor
    unit: Unit
    rows: Mapping[str, Sequence[Rows]]
    marks: tuple[int, ...]
    before: tuple[int, ...]
    ahead: pa.Table | None = None
    shared: Sequence[pa.Table] = ()
    thinned: bool = True
    lane: int | None = None
    decided: Decided = Decided()
    trains: Mapping[str, Sequence[Train]] = field(default_factory=dict)
    note: Callable[[TimeOuts], None] = field(default=lambda _: None, compare=False)
    high: int | None = None
    outlook: Outlook = NOTHING_KNOWN

    def leaves(self) -> dict[str, Leaf]:
        """Return the unit's leaves, each under the view that `input_sql` reads."""
        return self.processor.leaves(self.unit, self.rows, ahead=self.lane)

    def plain_leaves(self) -> dict[str, Leaf]:
        """Return the same without what gates kept where that is all, and it takes no copying."""
        found = self.leaves()
        return found if self.thinned else {view: _plain(*leaf) for view, leaf in found.items()}

    def input_sql(self, place: int = 0) -> str:
        """Return the SELECT of the stateful operator's input over the leaves."""
        return self.unit.input_sql(place, self.processor.views(self.unit, ahead=self.lane))

    def view(self, name: str) -> str:
        """Return a name for rows of the state that no other unit uses."""
        lane = "" if self.lane is None else f"lane{self.lane}_"
        return own(f"{self.unit.key}_{lane}{name}")

    def select(
        self,
        sql: str,
        leaves: Mapping[str, Leaf],
        schema: Schema | None = None,
        *,
        single: bool = True,
        branches: int = 1,
        wide: bool = False,
    ) -> pa.Table:
        """Return the rows of a SELECT over leaves; see `Processor.select`."""
        return self.processor.select(
            leaves, sql, schema, single=single, branches=branches, wide=wide
        )

    def made(
        self,
        sql: str,
        leaves: Mapping[str, Leaf],
        schema: Schema,
        order: Sequence[str],
        *,
        branches: int = 1,
    ) -> Made:
        """Return the rows of a SELECT that go on as they are, sorted by columns and then by all."""
        if self.processor.is_large(self.outlook, schema):
            return self.processor.written(leaves, sql, schema, self.outlook, RowOrder(order))
        return sorted_rows(self.select(sql, leaves, schema, branches=branches), order)

    @property
    def count(self) -> int:
        """Return how many tuples the leaves have."""
        return sum(each.count for parts in self.rows.values() for each in parts)


def _plain(rows: Sequence[Rows], schema: Schema | None) -> Leaf:
    if schema is None or schema.find(KEPT) is None:
        return rows, schema
    tables = [each.table for each in rows if each.table is not None and each.is_small]
    if len(tables) < len(rows):
        return rows, schema
    left = Schema(tuple(each for each in schema.columns if each.name != KEPT))
    return [in_memory(table.drop_columns([KEPT])) for table in tables], left


@dataclass(frozen=True, slots=True)
class RunOutput:
    """What a run gave: the root's rows, and the tuples that came too late.

    `judge` is the operator that found them late, where it is not the unit's one stateful operator.
    Rows that tasks have `written` to files are not in `table`.
    """

    table: pa.Table
    late: pa.Table | None = None
    judge: str = ""
    written: Rows | None = None

    @classmethod
    def of(cls, made: Made, schema: Schema, late: pa.Table | None = None) -> Self:
        """Return rows of a schema as they were made."""
        if isinstance(made, Rows):
            return cls(empty_table(schema), late, written=made)
        return cls(made, late)

    @property
    def rows(self) -> Rows:
        """Return the root's rows, wherever they are."""
        return self.written if self.written is not None else in_memory(self.table)


@dataclass(frozen=True, slots=True)
class KeptPart:
    """Some rows of a state, and what it says of them."""

    rows: Rows
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeptState:
    """A state as a checkpoint keeps it: facts that JSON can hold, and rows."""

    facts: Mapping[str, Any]
    parts: Sequence[KeptPart] = ()


class State(Protocol):
    """The state of one stateful operator."""

    def step(self, run: Run) -> RunOutput:
        """Take the run's tuples in and return what they lead to; all or nothing."""
        ...

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark of the output when the inputs have these."""
        ...

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        ...


@runtime_checkable
class Punctuated(Protocol):
    """A state that can let go of something once it knows that some tuples will come no more."""

    def punctuate(self, run: Run, conditions: Mapping[int, str]) -> RunOutput:
        """Return the rows that need wait no longer, and release what they stand on; all or nothing.

        `conditions` holds Spark SQL over an input's columns, by the input's place: from now on no
        tuple of that input fulfils it. The run has no rows and moves no watermark, and takes the
        place of a `step`. What comes all the same is late, for as long as it would do harm.

        An aggregate closes the open windows of groups that lie wholly inside a condition. A join
        whose equality keys cover the columns of a condition on one side may release the rows of
        the *other* side whose keys fulfil it (rewritten to that side's keys): they can only meet
        such tuples. Rows that an outer join preserves come out then, as if their window had passed.
        """
        ...
