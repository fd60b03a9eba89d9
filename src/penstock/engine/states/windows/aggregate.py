"""The state of window aggregates over one input: partials, and how far windows have closed.

A section of a bundle has many members, and an aggregate that runs alone is a section of one. They
differ in how windows become rows: alone, one SELECT makes the unit's rows of the partials; many
put theirs together first (`closing.py`), and then make each member's rows (`post-aggregations.py`).

Members with the same windows close them together. What a member brought along from when it ran
alone is kept beside the rest (`KeptPartials.owned`), until its windows are gone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.partition_jobs import partitions_for
from penstock.engine.spark.jobs.processor import Made
from penstock.engine.states.parts import Part, crowded, spill_large
from penstock.engine.states.state import KeptState, Run, RunOutput
from penstock.engine.states.windows.closing import Closed, Closer
from penstock.engine.states.windows.kept_partials import (
    KeptPartials,
    part_of,
    parts_within,
    table_of,
)
from penstock.engine.states.windows.late_tuples import (
    Ended,
    late_spans,
    late_tuples,
    partials_where,
    strays_of,
    without_strays,
)
from penstock.engine.states.windows.partitioned import (
    IN_DRIVER,
    PartitionedPartials,
    Place,
    loose,
    may_partition,
    panes_of,
)
from penstock.engine.states.windows.progress import Progress, Span, first_from, latest
from penstock.engine.states.windows.section_rows import (
    as_alone,
    as_bundled,
    asked_for,
    lifted_partials,
    with_shares,
)
from penstock.engine.trains.rows import empty_table, in_memory, is_small, laid_together
from penstock.engine.trains.train_files import Outlook, end_to_end
from penstock.errors import PenstockError
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators import key
from penstock.plan.operators.bundles.member import Member
from penstock.plan.operators.windows.window_aggregate import ARRIVAL, PANE, Numbers, WindowAggregate
from penstock.plan.operators.windows.window_assigner import WindowAssigner
from penstock.plan.select.punctuation import over_groups
from penstock.plan.sharing.layout import Closing, Layout, layout_of
from penstock.plan.sharing.predicate_index import PredicateIndex
from penstock.plan.sharing.unthinned import Unthinned, unthinned_of


@dataclass(frozen=True, slots=True)
class AggregateRun:
    """What a run made of its tuples: partials that count, windows, late tuples by member.

    `arrived` are the partials that came, also those that no window needs any more.
    """

    new: Part | None
    late: Mapping[str, pa.Table]
    arrived: int = 0
    closed: Closed | None = None


@dataclass(slots=True)
class AggregateState:
    """`begins` bound the windows that each member answers for, by its root.

    `layout` is how partials are made: for many, or as an aggregate alone makes its own. `told` is
    how the parts tell tuples apart, for the members `known` at the last run. Behind a gate,
    `unthinned` is what is made of tuples of which none was dropped. `measured` are the tuples and
    partials of a run, on the average of late.

    What may be asked of an aggregate alone only: `early` is when open windows were last shown,
    `arrived` how many tuples were numbered as they came, `ended` are groups that come no more, and
    `place` is where partials lie (`partitioned.py`).
    """

    members: tuple[Member, ...]
    layout: Layout | WindowAggregate
    windows: dict[WindowAssigner, Progress] = field(default_factory=dict)
    begins: dict[str, int] = field(default_factory=dict)
    partials: KeptPartials = field(default_factory=KeptPartials)
    predicate_index: PredicateIndex = field(default_factory=PredicateIndex)
    known: frozenset[str] = frozenset()
    unthinned: Unthinned | None = None
    measured: tuple[float, float] = (0.0, 0.0)
    early: int | None = None
    arrived: int = 0
    ended: tuple[Ended, ...] = ()
    place: Place = IN_DRIVER

    @classmethod
    def new(cls, members: Sequence[Member]) -> Self:
        """Return the state of a section, to be rearranged before it runs."""
        layout = layout_of(members)
        unthinned = unthinned_of(members, layout)
        return cls(
            tuple(members), layout, predicate_index=layout.predicate_index, unthinned=unthinned
        )

    @classmethod
    def alone(cls, aggregate: WindowAggregate, begin: int = BEGIN_OF_TIME) -> Self:
        """Return the state of an aggregate that runs alone, for windows from `begin` on."""
        member = Member(aggregate, aggregate.input, (), aggregate)
        windows = {aggregate.assigner: Progress.begun(aggregate.assigner, begin)}
        begins = {member.key: begin}
        return cls((member,), aggregate, windows, begins, known=frozenset(begins))

    # -- who is in it --------------------------------------------------------------------

    def rearranged(self, members: Sequence[Member], begin: int) -> None:
        """Take these members: new ones answer for windows from `begin` on."""
        self.members, self.layout = tuple(members), layout_of(members)
        self.unthinned = unthinned_of(members, self.layout)
        here = {member.key for member in members}
        self._follow_twins(members)
        self.begins = {name: self.begins.get(name, begin) for name in here}
        owned = self.partials.owned
        self.partials.owned = {name: parts for name, parts in owned.items() if name in here}
        self.known &= here
        before, self.windows = self.windows, {}
        for member in members:
            assigner = member.aggregate.assigner
            self.windows[assigner] = before.get(assigner) or Progress.begun(
                assigner, self.begins[member.key]
            )

    def _follow_twins(self, members: Sequence[Member]) -> None:
        """Give new members the open windows of members with the same aggregate."""
        twins = {key(m.aggregate): m.key for m in members if m.key in self.begins}
        owned = self.partials.owned
        for member in members:
            twin = twins.get(key(member.aggregate))
            if member.key not in self.begins and twin is not None:
                self.begins[member.key] = self.begins[twin]
                self.known |= {member.key} if twin in self.known else set()
                if twin in owned:
                    owned[member.key] = list(owned[twin])

    def take_in(self, member: Member, alone: "AggregateState") -> None:
        """Take over what a member kept alone, ahead of being rearranged with it."""
        assigner, name = member.aggregate.assigner, member.key
        self.begins[name] = alone.begin
        known = self.windows.get(assigner)
        if known is None or known.next is None:
            self.windows[assigner] = alone.windows[assigner]
        self.partials.owned[name] = [
            part_of(as_bundled(table_of(part.rows), member), part.level)
            for part in alone.partials.parts
        ]

    def take_out(self, member: Member) -> "AggregateState":
        """Return what a member would have kept alone."""
        state = AggregateState.alone(member.aggregate, self.begins[member.key])
        assigner = member.aggregate.assigner
        number = latest(self.windows[assigner].next, self._first(member))
        state.windows[assigner] = Progress(assigner, number, number)
        tables = [table_of(part.rows) for part in self.partials.owned.get(member.key, ())]
        if member.key in self.known:
            whole = [table_of(part.rows) for part in self.partials.parts]
            tables += [
                t.filter(pa.array(asked_for(t, self.predicate_index, member.asked))) for t in whole
            ]
        state.partials.parts = [part_of(as_alone(t, member)) for t in tables if t.num_rows]
        return state

    def trial(self, members: Sequence[Member]) -> "AggregateState":
        """Return a state that a run can be tried on, with only these members; this one stays."""
        partials = replace(self.partials, owned=dict(self.partials.owned))
        trial = replace(self, begins=dict(self.begins), partials=partials)
        trial.rearranged(members, BEGIN_OF_TIME)
        return trial

    def makes(self, *, thinned: bool) -> Layout:
        """Return the layout of the partials that are made of a run's tuples."""
        assert isinstance(self.layout, Layout)  # noqa: S101  (a section's is)
        return self.layout if thinned or self.unthinned is None else self.unthinned.layout

    # -- a run of a section --------------------------------------------------------------

    def made(self, run: Run) -> AggregateRun:
        """Return what the run's tuples lead to; nothing counts before it is accepted."""
        self._lift(run)
        found = self._taken(run)
        return replace(found, closed=self._closed(run, found.new))

    def _taken(self, run: Run) -> AggregateRun:
        """Return the partials of the run's tuples that a window needs, and who came too late."""
        if self.place.is_large and run.count > run.processor.few_rows and not self.ended:
            return self._written(run)
        partials = self._partials(run)
        if partials is None:
            return AggregateRun(None, {})
        late: Mapping[str, pa.Table] = self._late(run, partials)
        if self.ended:
            partials, late = self._without_strays(run, partials, late)
        if self.aggregate.raw is not None:  # tuples are numbered as they came
            numbers = np.arange(self.arrived, self.arrived + partials.num_rows, dtype=np.int64)
            partials = partials.append_column(ARRIVAL, pa.array(numbers))
        arrived = partials.num_rows
        if (start := self._kept_from) is not None:
            partials = partials.filter(pc.greater_equal(partials[PANE], start))
        return AggregateRun(part_of(partials) if partials.num_rows else None, late, arrived)

    def _written(self, run: Run) -> AggregateRun:
        """Return what `_taken` does where tasks write the partials: those too late are with them.

        No window that is still to close has any of these.
        """
        part = self._partitioned(run).made()
        if part is None:
            return AggregateRun(None, {})
        spans = [self._late_span(member) for member in self.members]
        before = max((span[1] for span in spans if span is not None), default=None)
        return AggregateRun(part, self._late(run, panes_of(part, before)), part.rows.count)

    def accept(self, made: AggregateRun, run: Run) -> None:
        """Take the new partials in, and let go of windows that have closed."""
        if (new := made.new) is not None:
            self.partials.parts = [*self.partials.parts, new]
            tuples, partials = self.measured
            self.measured = ((tuples + run.count) / 2, (partials + new.rows.count) / 2)
        self.arrived += made.arrived
        # Windows move on before panes go: those that this watermark has closed are not needed.
        self._move(self._mark(run.marks), new)
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(run)
        with suppress(OSError):
            self.partials.delete_gone()

    def _move(self, mark: int, new: Part | None) -> None:
        spread, lateness = self.partials.spread(), self.aggregate.lateness
        self.windows = {h: each.moved(mark, lateness, spread) for h, each in self.windows.items()}
        if (start := self._kept_from) is not None:
            self.partials.let_go(start, new)

    def promises(self, marks: Sequence[int]) -> dict[str, int]:
        """Return the watermark of each member's rows when the input has this one."""
        return {member.key: self._promise(member, self._mark(marks)) for member in self.members}

    # -- a run alone ---------------------------------------------------------------------

    def step(self, run: Run) -> RunOutput:
        """Turn tuples into partials, and close the windows that the watermark has passed."""
        self._rise(run)  # a run that is done again finds it there already
        unit, made = run.unit, self._taken(run)
        with _deleted_if_failed(made.new):
            pieces = list(self._emitted(run, made.new))
        self._settle_place(run, made.new)
        self.accept(made, run)
        if (closed := self._progress.next) is not None:
            self.ended = tuple(each for each in self.ended if each.until >= closed)
        watermark = self._mark(run.marks)
        if self.aggregate.early is not None and abs(watermark) < END_OF_TIME:
            self.early = watermark // self.aggregate.early
        whole = end_to_end(pieces, unit.root.schema, run.processor.spill)
        return RunOutput.of(whole, unit.root.schema, made.late.get(self.members[0].key))

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark of the output when the input has this one."""
        return self._promise(self.members[0], self._mark(marks))

    def punctuate(self, run: Run, conditions: Mapping[int, str]) -> RunOutput:
        """Close the open windows of groups of which no more tuples come, and release them.

        Punctuations are rare: each goes through all partials once.
        """
        table, parts = empty_table(run.unit.root.schema), self.partials.parts
        held, spread = over_groups(run.unit, conditions[0]), self.partials.spread()
        last = None if spread is None else self._progress.assigner.last_holding(*spread)
        if not held or spread is None or last is None:
            return RunOutput(table)
        if self.partitions:
            numbers = self._progress.open(BEGIN_OF_TIME, spread)
            made = self._partitioned(run).released(self.partials, held, numbers)
            self.ended = (*self.ended, Ended(held, conditions[0], last))
            return RunOutput.of(made, run.unit.root.schema)
        theirs = partials_where(run, held, [part.rows for part in parts])
        if theirs.num_rows:
            others = f"NOT coalesce({held}, false)"
            rest = partials_where(run, others, [part.rows for part in parts])
            if (numbers := self._progress.open(BEGIN_OF_TIME, spread)) is not None:
                table = run.processor.close(run.unit, [in_memory(theirs)], numbers)
            self.partials.replace(parts, rest, max(part.level for part in parts))
            self.partials.delete_gone()
        self.ended = (*self.ended, Ended(held, conditions[0], last))
        return RunOutput(table)

    def _emitted(self, run: Run, new: Part | None) -> Iterator[Made]:
        """Yield the rows of the windows that close, are corrected, or are shown early."""
        watermark, spread = self._mark(run.marks), self.partials.spread(new)
        if (closing := self._progress.closing(watermark, spread)) is not None:
            yield self._close(run, closing, new, "final")
        if new is not None and self.aggregate.lateness:
            corrected = self._progress.corrected((new.first, new.last))
            if corrected is not None:
                yield self._close(run, corrected, new, "corrected")
        early = self._progress.open(watermark, spread) if self._shows_early(watermark) else None
        if early is not None:
            yield self._close(run, early, new, "early")

    def _close(self, run: Run, numbers: Numbers, new: Part | None, emitted: str) -> Made:
        parts = self._needed(numbers, new)
        marked = [new] if new is not None and emitted == "corrected" else None
        if self.partitions:
            return self._partitioned(run).closed(parts, numbers, emitted, marked)
        touched = None if marked is None else [each.rows for each in marked]
        needed = [part.rows for part in parts]
        rows, size = sum(each.count for each in needed), sum(each.size for each in needed)
        outlook = Outlook(rows, size, f"{run.outlook.name}-{emitted}")
        return run.processor.closed(
            run.unit, needed, numbers, outlook, emitted=emitted, touched=touched
        )

    def _needed(self, numbers: Numbers, new: Part | None) -> list[Part]:
        """Return the parts that windows of these numbers need."""
        assigner, parts = self._progress.assigner, [*self.partials.parts, *([new] if new else [])]
        low, high = min(map(assigner.start_of, numbers)), max(map(assigner.end_of, numbers))
        return parts_within(parts, low, high)

    def _settle_place(self, run: Run, new: Part | None) -> None:
        """Decide where partials lie from this run on."""
        parts = [*self.partials.parts, *([new] if new is not None else [])]
        numbers = self._progress.closing(self._mark(run.marks), self.partials.spread(new))
        closing = None if numbers is None else self._needed(numbers, new)
        place = self.place.after(parts, closing, run.processor.large_states)
        if place.is_large and not place.partitions:
            partitions = partitions_for(run.processor.slots)
            place = Place(partitions, True) if may_partition(self.aggregate, parts) else IN_DRIVER
        self.place = place

    @property
    def partitions(self) -> int:
        """Return in how many partitions partials lie, 0 for in none."""
        return self.place.partitions

    def _partitioned(self, run: Run) -> PartitionedPartials:
        return PartitionedPartials(run, self.aggregate, self.partitions)

    def _shows_early(self, watermark: int) -> bool:
        every = self.aggregate.early
        if every is None or abs(watermark) >= END_OF_TIME:
            return False
        return self.early is None or watermark // every > self.early

    def _rise(self, run: Run) -> None:
        if run.high is not None:
            high = shifted(run.high, self.aggregate.time.offset)
            self.windows = {self.aggregate.assigner: self._progress.risen(high)}

    def _without_strays(
        self, run: Run, partials: pa.Table, late: Mapping[str, pa.Table]
    ) -> tuple[pa.Table, Mapping[str, pa.Table]]:
        """Return the partials without groups that had ended, whose tuples are late."""
        kept = without_strays(run, self.ended, partials)
        if kept.num_rows == partials.num_rows:
            return partials, late
        (member,) = self.members
        strays = strays_of(run, member.aggregate, self.ended, self._late_span(member))
        found = [each for each in (late.get(member.key), strays) if each is not None]
        return kept, {member.key: pa.concat_tables(found)}

    @property
    def _progress(self) -> Progress:
        return self.windows[self.aggregate.assigner]

    @property
    def begin(self) -> int:
        """Return from where on the windows of an aggregate alone are answered for."""
        return self.begins[self.members[0].key]

    # -- for both ------------------------------------------------------------------------

    @property
    def aggregate(self) -> WindowAggregate:
        """Return the aggregate that runs alone; of several, what all have in common of it."""
        return self.members[0].aggregate

    def _promise(self, member: Member, mark: int) -> int:
        found = self.windows[member.aggregate.assigner].promise(self._first(member))
        if END_OF_TIME in (mark, found):
            return END_OF_TIME
        return found if member.aggregate.times else BEGIN_OF_TIME

    def _first(self, member: Member) -> int | None:
        """Return the first window that a member answers for, or None where all count."""
        return first_from(member.aggregate.assigner, self.begins[member.key])

    @property
    def _kept_from(self) -> int | None:
        """Return the first pane that is still needed; None while all are."""
        starts = [each.kept_from for each in self.windows.values()]
        known = [start for start in starts if start is not None]
        return min(known) if known and len(known) == len(starts) else None

    def _mark(self, marks: Sequence[int]) -> int:
        return shifted(marks[0], self.aggregate.time.offset)

    def _partials(self, run: Run) -> pa.Table | None:
        """Return the partials of the run's tuples, or None where there are none."""
        made = run.ahead
        if made is None and isinstance(self.layout, WindowAggregate):
            made = run.processor.panes(run.unit, run.rows)
        elif made is None and run.count:
            sql = self.makes(thinned=run.thinned).pane_sql(f"({run.input_sql()})")
            made = run.select(sql, run.plain_leaves(), wide=bool(self.predicate_index.predicates))
        if made is None or not made.num_rows:
            return None
        if run.thinned or self.unthinned is None:
            return made
        return with_shares(made, self.makes(thinned=True), self.unthinned)

    def _closed(self, run: Run, new: Part | None) -> Closed | None:
        """Return what the windows that close are made of."""
        mark, spread = self._mark(run.marks), self.partials.spread(new)
        closing = [
            Closing(assigner, *numbers)
            for assigner, each in self.windows.items()
            if (numbers := each.closing(mark, spread)) is not None
        ]
        if not closing:
            return None
        firsts = {member.key: self._first(member) for member in self.members}
        parts = [*self.partials.parts, *([new] if new is not None else [])]
        closer = Closer(self.makes(thinned=True), self.members, parts, self.partials.owned, firsts)
        return closer.closed(run, closing)

    def _lift(self, run: Run) -> None:
        """Bring the parts to the way in which tuples are told apart now."""
        now, layout = frozenset(member.key for member in self.members), self.makes(thinned=True)
        if self.predicate_index == layout.predicate_index and self.known == now:
            return
        if self.partials.all:
            nothing = {view: ((), schema) for view, (_, schema) in run.leaves().items()}
            schema = run.select(layout.pane_sql(f"({run.input_sql()})"), nothing).schema
            self.partials = lifted_partials(
                self.partials, self.predicate_index, layout.predicate_index, schema
            )
        self.predicate_index, self.known = layout.predicate_index, now

    def _late(self, run: Run, partials: pa.Table) -> dict[str, pa.Table]:
        """Return the tuples that came too late for each member."""
        spans = [(m, span) for m in self.members if (span := self._late_span(m)) is not None]
        some = late_spans(partials, {span for _, span in spans})
        late = [(member, span) for member, span in spans if span in some]
        return late_tuples(run, self.layout.micros(), self.predicate_index, late) if late else {}

    def _late_span(self, member: Member) -> Span | None:
        """Return the places from and before which a tuple is late for a member."""
        return self.windows[member.aggregate.assigner].late_span(self._first(member))

    def _tidy(self, run: Run) -> None:
        """Combine parts and spill large ones; what fails is tried again after the next run."""
        if self.partitions:
            collapses, is_large = self._progress.collapses_before, self.place.is_large
            self._partitioned(run).tidy(self.partials, collapses, is_large=is_large)
        # Tuples do not combine; only small lots of them are laid together.
        combines, kept = self.aggregate.raw is None, self.partials
        while parts := crowded([p for p in loose(kept.parts) if combines or p.rows.is_small]):
            kept.replace(parts, self._combined(run, parts), parts[0].level + 1)
        spill_large(loose(kept.parts), run.processor.spill, run.processor.room)

    def _combined(self, run: Run, parts: Sequence[Part]) -> pa.Table:
        """Return the partials of several parts as one table."""
        tables, collapses = [part.rows.table for part in parts], self._progress.collapses_before
        if all(table is not None for table in tables):
            whole = laid_together(tables)
            if self.aggregate.raw is not None or (is_small(whole) and collapses is None):
                return whole  # not worth a job: laying them together makes one leaf as well
        rows = [part.rows for part in parts]
        if isinstance(self.layout, WindowAggregate):
            return run.processor.compact(run.unit, rows, collapses)
        view = run.view("parts")
        return run.select(self.layout.compact_sql(view), {view: (rows, None)})

    # -- checkpoints ---------------------------------------------------------------------

    def kept(self) -> KeptState:
        """Return the state for a checkpoint.

        An aggregate alone and a section are told apart on disk by the operator that keeps them, so
        each has the form that homes have always had.
        """
        if isinstance(self.layout, WindowAggregate):
            return self._kept_alone()
        owners = {"": self.partials.parts, **self.partials.owned}
        parts = [part.kept(owner=name) for name, owned in owners.items() for part in owned]
        facts = {
            "begins": dict(self.begins),
            "nexts": [
                [assigner.end, assigner.lower, each.next] for assigner, each in self.windows.items()
            ],
            "told": self.predicate_index.to_json(),
            "known": sorted(self.known),
        }
        return KeptState(facts, parts)

    @classmethod
    def back(cls, members: Sequence[Member], kept: KeptState) -> Self:
        """Return the state of a section that a checkpoint kept."""
        state, facts = cls.new(members), kept.facts
        state.predicate_index, state.known = (
            PredicateIndex.from_json(facts["told"]),
            frozenset(facts["known"]),
        )
        state.begins = dict(facts["begins"])
        numbers = {(end, lower): number for end, lower, number in facts["nexts"]}
        for assigner in (member.aggregate.assigner for member in members):
            number = numbers[assigner.end, assigner.lower]
            state.windows[assigner] = Progress(assigner, number, number)
        for each in kept.parts:
            owned, owner = state.partials.owned, each.facts["owner"]
            (owned.setdefault(owner, []) if owner else state.partials.parts).append(Part.back(each))
        return state

    def _kept_alone(self) -> KeptState:
        progress = self._progress
        facts: dict[str, Any] = {
            "begin": self.begin,
            "next": progress.next,
            "kept": progress.kept,
            "early": self.early,
            "arrived": self.arrived,
            "ended": [[each.held, each.given, each.until] for each in self.ended],
            "high": progress.high,
        }
        facts |= {"place": asdict(self.place)} if self.partitions else {}
        return KeptState(facts, [part.kept() for part in self.partials.parts])

    @classmethod
    def back_alone(cls, aggregate: WindowAggregate, kept: KeptState) -> Self:
        """Return the state of an aggregate alone that a checkpoint kept."""
        facts, assigner = kept.facts, aggregate.assigner
        state = cls.alone(aggregate, facts["begin"])
        progress = Progress(assigner, facts["next"], facts["kept"], facts.get("high"))
        state.windows = {assigner: progress}
        state.partials.parts = list(map(Part.back, kept.parts))
        state.early, state.arrived = facts["early"], facts["arrived"]
        state.ended = tuple(Ended(*each) for each in facts.get("ended", ()))
        state.place = Place(**facts.get("place", {}))
        return state


@contextmanager
def _deleted_if_failed(new: Part | None) -> Iterator[None]:
    """Remove the files that tasks wrote for a run that fails: it is done again."""
    try:
        yield
    except BaseException:
        if new is not None and new.partitions:
            new.rows.delete()
        raise
