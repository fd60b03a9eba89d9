"""The state of joins in a bundle: rows that somebody wants, each once, and one join of them all.

    tuples --> who wants each --> rows, each with its audience --> pairs near enough for somebody
           --> each member's pairs: it wants both rows, and its own windows hold them --> its rows

Members with equal joins want the same rows, as they would read one node; whoever is the first with
its join wants what comes from now on. What one kept alone stands beside the other rows, wanted by
nobody else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import pyarrow as pa

from penstock.engine.states.joins.kept_rows import KeptRows, late_rows, undone, views_of
from penstock.engine.states.joins.window_join import SIDES, WindowJoinState
from penstock.engine.states.parts import Part
from penstock.engine.states.sharing.audiences import Audiences, Ints
from penstock.engine.states.sharing.join_arrivals import Arrived, JoinArrivals, Joins
from penstock.engine.states.sharing.join_groups import (
    Play,
    audiences_of,
    groups_of,
    of_one,
    split,
)
from penstock.engine.states.sharing.post_aggregation import handed_out, shaped
from penstock.engine.states.state import KeptState, Run, RunOutput, State
from penstock.engine.states.windows.section_rows import fit_to
from penstock.engine.trains.rows import empty_table, in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.plan.operators import AnyBundle, JoinBundle, key
from penstock.plan.operators.bundles.join_member import JoinMember
from penstock.plan.operators.bundles.member import Asking
from penstock.plan.operators.joins.window_join import MET, UNTIL, Marks
from penstock.plan.sharing.post_aggregation import (
    MEMBER,
    PostAggregation,
    Shape,
    join_post_aggregation_of,
)
from penstock.plan.sharing.shared_join import (
    MEETING,
    added,
    bit_of,
    columns_of,
    joins_of,
    shared_join_of,
)

MOST_SPLIT = 1_000_000  # rows that are split among joins in the driver; of more, Spark is asked
MOST_AUDIENCES = 10_000  # of more, those that no row has any more are forgotten


@dataclass(frozen=True, slots=True)
class JoinsRun:
    """What a run made: nothing of it is kept yet."""

    marks: Marks
    audiences: Audiences
    new: Sequence[Part | None] = ()
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    late: Mapping[str, pa.Table] = field(default_factory=dict)
    apart: bool = False


@dataclass(slots=True)
class JoinsState:
    """`shared` has the rows; nothing is late for joins that are `fresh`: they have not run yet.

    `joining` is what members kept alone that are about to come in. `apart` counts the runs in which
    each join ran by itself.
    """

    bundle: JoinBundle
    shared: WindowJoinState
    audiences: Audiences = field(default_factory=Audiences)
    fresh: frozenset[str] = frozenset()
    joins: Joins = field(default_factory=dict)
    post_aggregations: dict[str, PostAggregation] = field(default_factory=dict)
    joining: dict[str, WindowJoinState] = field(default_factory=dict)
    apart: int = 0

    @classmethod
    def new(cls, bundle: JoinBundle) -> Self:
        """Return the state of a bundle whose members are yet to come in."""
        return cls(bundle, WindowJoinState(shared_join_of(replace(bundle, members=()))))

    @property
    def reached(self) -> Marks:
        """Return the watermarks of both sides after the last run."""
        return self.shared.reached

    # -- members -------------------------------------------------------------------------

    def rearranged(self, bundle: AnyBundle, begin: int) -> None:
        """Take the members of `bundle`; who is new wants what comes from now on."""
        assert isinstance(bundle, JoinBundle)  # noqa: S101  (a bundle stays what it is)
        come = joins_of(bundle.members).keys() - self.audiences.names
        if self.joining and not self.audiences.names:
            self.shared.reached = next(iter(self.joining.values())).reached
        self._lift(bundle)
        self._take(bundle)
        for name in sorted(come & self.joining.keys()):
            self._add(name, self.joining[name])
        self.fresh = (self.fresh & self.joins.keys()) | (come - self.joining.keys())
        self.joining = {}

    def take_in(self, member: Asking, alone: State | None) -> None:
        """Take over what a member kept alone, ahead of being rearranged with it."""
        assert isinstance(member, JoinMember)  # noqa: S101  (only they are members)
        assert isinstance(alone, WindowJoinState)  # noqa: S101  (what a join alone keeps)
        self.joining[key(member.join)] = alone

    def take_out(self, member: Asking) -> WindowJoinState:
        """Return what a member would have kept alone."""
        assert isinstance(member, JoinMember)  # noqa: S101  (only they are members)
        name = key(member.join)
        alone = WindowJoinState(member.join)
        if name not in self.fresh:
            alone.reached = self.shared.reached
        for place in SIDES:
            tables = (
                self._rows_of(part, place, member) for part in self.shared.rows.sides[place].parts
            )
            parts = map(alone.rows.sides[place].part_of, tables)
            alone.rows.sides[place].parts = [part for part in parts if part is not None]
        return alone

    def _take(self, bundle: JoinBundle) -> None:
        self.bundle, self.joins = bundle, joins_of(bundle.members)
        self.audiences = self.audiences.among(sorted(self.joins))
        self.post_aggregations = {
            m.key: self.post_aggregations.get(m.key) or join_post_aggregation_of(m)
            for m in bundle.members
        }

    def _lift(self, bundle: JoinBundle) -> None:
        """Keep the columns that members of `bundle` read; older rows are wanted by who has them."""
        before, lifted = self.shared, WindowJoinState(shared_join_of(bundle), self.shared.reached)
        for place, (old, new) in enumerate(zip(before.rows.sides, lifted.rows.sides, strict=True)):
            new.parts = old.parts
            if old.schema != new.schema:
                wanted = arrow_schema(lifted.join.state_schema(place))
                tables = [fit_to(part.rows.to_table(old.schema), wanted) for part in old.parts]
                new.parts = _replaced(old.parts, tables)
        self.shared = lifted

    def _add(self, name: str, alone: WindowJoinState) -> None:
        """Put rows of a join alone beside the others."""
        member = self.joins[name]
        mine = np.array([[each == name for each in self.audiences.names]])
        self.audiences, (number,) = self.audiences.of(mine)
        names = columns_of(member)
        for place, side in enumerate(self.shared.rows.sides):
            wanted, kept = arrow_schema(side.schema), alone.rows.sides[place]
            marks = dict(zip(added(place), (number, bit_of(name)), strict=True))
            tables = []
            for part in kept.parts:
                table = part.rows.to_table(kept.schema)
                table = table.rename_columns([names.get(n, n) for n in table.column_names])
                for column, value in marks.items():
                    table = table.append_column(column, _repeated(value, table.num_rows))
                tables.append(fit_to(table, wanted))
            side.parts = [*side.parts, *_replaced(kept.parts, tables)]

    def _rows_of(self, part: Part, place: int, member: JoinMember) -> pa.Table:
        """Return the rows of a part that a member still wants, as it would keep them alone."""
        table = part.rows.to_table(self.shared.join.state_schema(place))
        numbers = table[added(place)[0]].to_numpy()
        until = table[MET].to_numpy() + member.join.sides[place].width
        mine = self.audiences.having(key(member.join))[self.audiences.places(numbers)]
        mine &= until >= member.join.needed_from(place, self.shared.reached)
        names, schema = columns_of(member), member.join.state_schema(place)
        columns = {name: table[names.get(name, name)] for name in schema.names}
        columns[UNTIL] = pa.array(until)
        return fit_to(pa.table(columns), arrow_schema(schema)).filter(pa.array(mine))

    # -- runs ----------------------------------------------------------------------------

    def steps(self, run: Run) -> dict[str, RunOutput]:
        """Join what is new with what is there, and return each member's rows, by its root."""
        made = self._made(run, self.bundle.members)
        needed_from = [self.shared.join.needed_from(place, made.marks) for place in SIDES]
        self.shared.rows.accept(made.new, needed_from, run.processor.spill, run.processor.room)
        self.shared.reached, self.audiences = made.marks, made.audiences
        self.fresh, self.apart = frozenset(), self.apart + made.apart
        self._forget_audiences()
        return {
            m.key: RunOutput(
                made.tables.get(m.key, empty_table(m.root.schema)),
                made.late.get(key(m.join)),
                key(m.join),
            )
            for m in self.bundle.members
        }

    def probe(self, run: Run, members: Sequence[Asking]) -> None:
        """Raise what a run would raise if only these members were here; nothing changes."""
        made = self._made(run, [each for each in members if isinstance(each, JoinMember)])
        for part in made.new:
            if part is not None:
                part.rows.delete()

    def promises(self, marks: Sequence[int]) -> dict[str, int]:
        """Return the watermark of each member's rows when the inputs have these."""
        return {member.key: member.join.promise(marks) for member in self.bundle.members}

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        facts = {
            "reached": list(self.shared.reached),
            "audiences": self.audiences.to_json(),
            "fresh": sorted(self.fresh),
        }
        return KeptState(facts, self.shared.rows.kept())

    @classmethod
    def back(cls, bundle: JoinBundle, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        left, right = kept.facts["reached"]
        shared = WindowJoinState(shared_join_of(bundle), (left, right))
        shared.rows.back(kept.parts)
        audiences = Audiences.from_json(kept.facts["audiences"])
        state = cls(bundle, shared, audiences, frozenset(kept.facts["fresh"]))
        state._take(bundle)
        return state

    def _made(self, run: Run, members: Sequence[JoinMember]) -> JoinsRun:
        joins, audiences = joins_of(members), self.audiences
        marks, arrived = self.shared.join.marks(run.marks), list[Arrived]()
        for place, mark in enumerate(self.shared.reached):
            comes = JoinArrivals(self.shared.join, place, joins, self.fresh, mark)
            audiences, found = comes.of(run, audiences)
            arrived.append(found)
        new = self.shared.rows.parts_of(each.table for each in arrived)
        with undone(new):
            tables, apart = self._joined(run, new, JoinsRun(marks, audiences), members)
        return JoinsRun(marks, audiences, new, tables, _late(joins, arrived), apart)

    def _joined(
        self,
        run: Run,
        new: Sequence[Part | None],
        made: JoinsRun,
        members: Sequence[JoinMember],
    ) -> tuple[dict[str, pa.Table], bool]:
        """Return the rows of each member, and whether each join ran by itself."""
        kept, rows = self.shared.rows, self.shared.in_play(new, made.marks)
        how = self.shared.how(run, rows, new)
        groups = [made.audiences.names]
        if not how.by_time:
            groups = groups_of(kept, rows, self.shared.meeting, made.audiences)
        found: dict[str, pa.Table] = {}
        for names, (play, at) in zip(groups, _plays(run, kept, rows, made, groups), strict=True):
            some = [each for each in members if key(each.join) in names]
            sql = self.shared.join.run_sql(at, self.shared.reached, made.marks, how)
            pairs = self._pairs(run, play, sql if some else "")
            if pairs.num_rows:
                found |= self._handed_out(run, pairs, some, made.audiences)
        return found, len(groups) > 1

    def _pairs(self, run: Run, rows: Play, sql: str) -> pa.Table:
        """Return the pairs of rows that somebody may want both of."""
        join = self.shared.join
        if not sql:
            return empty_table(join.schema)
        leaves = self.shared.rows.leaves(run, rows, sql)
        return run.select(sql, leaves, join.schema, branches=len(SIDES))

    def _handed_out(
        self, run: Run, pairs: pa.Table, members: Sequence[JoinMember], audiences: Audiences
    ) -> dict[str, pa.Table]:
        """Return what each member makes of its pairs, those of one shape together."""
        mine = _pairs_of(pairs, joins_of(members), audiences)
        groups: dict[tuple[Shape, tuple[tuple[str, str], ...]], list[int]] = {}
        for place, member in enumerate(members):
            shape = self.post_aggregations[member.key].shape
            groups.setdefault((shape, tuple(columns_of(member).items())), []).append(place)
        found: dict[str, pa.Table] = {}
        for (shape, names), places in groups.items():
            rows = [mine[key(members[place].join)] for place in places]
            whose = np.repeat(places, [len(each) for each in rows])
            if not len(whose):
                continue
            taken = pairs.select([name for _, name in names]).take(pa.array(np.concatenate(rows)))
            table = taken.rename_columns([out for out, _ in names])
            table = table.append_column(MEMBER, pa.array(whose))
            table = shaped(run, table, members, self.post_aggregations, shape)
            found |= handed_out(table, [(place, members[place]) for place in places])
        return found

    def _forget_audiences(self) -> None:
        if len(self.audiences.numbers) > MOST_AUDIENCES:
            rows = self.shared.rows
            used = [
                np.unique(audiences_of(rows, [part.rows], place))
                for place, side in enumerate(rows.sides)
                for part in side.parts
            ]
            self.audiences = self.audiences.only(
                np.concatenate([self.audiences.numbers[:0], *used])
            )


def _plays(
    run: Run, kept: KeptRows, rows: Play, made: JoinsRun, groups: Sequence[tuple[str, ...]]
) -> Iterator[tuple[Play, dict[str, str]]]:
    """Yield the relations of each group, and as SQL; what was made for one goes after it."""
    if len(groups) == 1:
        yield rows, views_of(run, rows)
    elif sum(each.count for name in rows for each in rows[name]) > MOST_SPLIT:
        yield from ((rows, of_one(views_of(run, rows), join)) for (join,) in groups)
    else:
        for play in split(kept, rows, made.audiences):
            try:
                yield play, views_of(run, play)
            finally:  # large ones went to Spark by way of the disk
                for each in (each for parts in play.values() for each in parts):
                    each.delete()


def _pairs_of(pairs: pa.Table, joins: Joins, audiences: Audiences) -> dict[str, Ints]:
    """Return which pairs each join has: it wants both rows, and both are there."""
    left, right = (audiences.places(pairs[added(at)[0]].to_numpy()) for at in SIDES)
    first, second = (pairs[name].to_numpy() for name in MEETING)
    later = second - first
    found: dict[str, Ints] = {}
    for name, member in joins.items():
        wants, (one, other) = audiences.having(name), member.join.sides
        near = (later <= one.width) & (-later <= other.width)
        found[name] = np.flatnonzero(wants[left] & wants[right] & near)
    return found


def _late(joins: Joins, arrived: Sequence[Arrived]) -> dict[str, pa.Table]:
    """Return the late tuples of each join as rows without a partner."""
    found: dict[str, pa.Table] = {}
    for name, member in joins.items():
        names = columns_of(member)
        tables = []
        for place, each in enumerate(arrived):
            if (table := each.late.get(name)) is not None:
                columns = [out for _, out in member.join.sides[place].columns]
                tables.append(pa.table({out: table[names[out]] for out in columns}))
        if (late := late_rows(member.join.late_schema, tables, [])) is not None:
            found[name] = late
    return found


def _replaced(parts: Sequence[Part], tables: Sequence[pa.Table]) -> list[Part]:
    """Return parts with other tables for their rows."""
    made = [replace(part, rows=in_memory(table)) for part, table in zip(parts, tables, strict=True)]
    for part in parts:
        part.rows.delete()
    return made


def _repeated(value: int, count: int) -> pa.Array:
    return pa.array(np.full(count, value, dtype=np.int64))
