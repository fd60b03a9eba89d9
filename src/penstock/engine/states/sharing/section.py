"""The state of one section of a bundle: partials of its members, how far windows have closed.

Members with the same windows close them together. What a member brought along from when it ran
alone (`owned`) is kept beside the rest, until its windows are gone.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.processor import Processor
from penstock.engine.states.sharing.closing import Closed, Closer
from penstock.engine.states.sharing.panes import PaneState
from penstock.engine.states.sharing.parts import (
    Part,
    from_pane,
    part_of,
    spread_of,
    table_of,
    to_combine,
)
from penstock.engine.states.sharing.section_rows import (
    as_alone,
    as_bundled,
    asked_for,
    fit_to,
    lifted,
    with_shares,
)
from penstock.engine.states.sharing.section_windows import closings, kept_from, moved
from penstock.engine.states.state import Kept, KeptPart, Run
from penstock.engine.trains.rows import fit, in_memory, is_small, laid_together
from penstock.engine.trains.types import arrow_schema
from penstock.errors import PenstockError
from penstock.model.own_names import INPUT, own
from penstock.model.schema import quoted
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators import key
from penstock.plan.operators.windows.hops import Hops
from penstock.plan.operators.windows.window_aggregate import PANE
from penstock.plan.sharing.layout import Layout, layout_of
from penstock.plan.sharing.member import Member
from penstock.plan.sharing.told import Told
from penstock.plan.sharing.unthinned import Unthinned, unthinned_of

AT = own("section_at")


@dataclass(frozen=True, slots=True)
class Made:
    """What a run made of its tuples: partials that count, windows, late tuples by member."""

    new: Part | None
    closed: Closed | None
    late: Mapping[str, pa.Table]


@dataclass(slots=True)
class SectionState:
    """`begins` bound the windows that each member answers for, by its root.

    `nexts` are the first windows of each kind that have not closed. `told` is how the parts tell
    tuples apart, for the members `known` at the last run. Behind a gate, `unthinned` is what is
    made of tuples of which none was dropped. `measured` are the tuples and partials of a run, on
    the average of late.
    """

    members: tuple[Member, ...]
    layout: Layout
    told: Told
    begins: dict[str, int] = field(default_factory=dict)
    nexts: dict[Hops, int | None] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    owned: dict[str, list[Part]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    gone: list[Part] = field(default_factory=list)
    unthinned: Unthinned | None = None
    measured: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def new(cls, members: Sequence[Member]) -> Self:
        """Return a state that is to be rearranged before it runs."""
        layout = layout_of(members)
        unthinned = unthinned_of(members, layout)
        return cls(tuple(members), layout, layout.told, unthinned=unthinned)

    # -- who is in it --------------------------------------------------------------------

    def rearranged(self, members: Sequence[Member], begin: int) -> None:
        """Take these members: new ones answer for windows from `begin` on."""
        self.members, self.layout = tuple(members), layout_of(members)
        self.unthinned = unthinned_of(members, self.layout)
        here = {member.key for member in members}
        self._follow_twins(members)
        self.begins = {name: self.begins.get(name, begin) for name in here}
        self.owned = {name: parts for name, parts in self.owned.items() if name in here}
        self.known &= here
        nexts = dict(self.nexts)
        self.nexts = {}
        for member in members:
            hops = member.aggregate.hops
            self.nexts[hops] = nexts[hops] if hops in nexts else self._first(member)

    def _follow_twins(self, members: Sequence[Member]) -> None:
        """Let newcomers answer for the open windows of members with the very same aggregate."""
        twins = {key(m.aggregate): m.key for m in members if m.key in self.begins}
        for member in members:
            twin = twins.get(key(member.aggregate))
            if member.key not in self.begins and twin is not None:
                self.begins[member.key] = self.begins[twin]
                self.known |= {member.key} if twin in self.known else set()
                if twin in self.owned:
                    self.owned[member.key] = list(self.owned[twin])

    def take_in(self, member: Member, alone: PaneState) -> None:
        """Take over what a member kept alone, ahead of being rearranged with it."""
        hops, name = member.aggregate.hops, member.key
        self.begins[name] = alone.begin
        if self.nexts.get(hops) is None:
            self.nexts[hops] = alone.next_number
        self.owned[name] = [
            part_of(as_bundled(table_of(part.rows), member), part.level) for part in alone.parts
        ]

    def take_out(self, member: Member) -> PaneState:
        """Return what a member would have kept alone."""
        state = PaneState(member.aggregate, self.begins[member.key])
        state.next_number = state.kept_number = self._next(member)
        tables = [table_of(part.rows) for part in self.owned.get(member.key, ())]
        if member.key in self.known:
            whole = [table_of(part.rows) for part in self.parts]
            tables += [t.filter(pa.array(asked_for(t, self.told, member.asked))) for t in whole]
        state.parts = [part_of(as_alone(table, member)) for table in tables if table.num_rows]
        return state

    def makes(self, *, thinned: bool) -> Layout:
        """Return the layout of the partials that are made of a run's tuples."""
        return self.layout if thinned or self.unthinned is None else self.unthinned.layout

    # -- what it does --------------------------------------------------------------------

    def made(self, run: Run) -> Made:
        """Return what the run's tuples lead to; nothing counts before it is accepted."""
        self._lift(run)
        partials = self._partials(run)
        late = self._late(run, partials) if partials is not None else {}
        if partials is not None and (start := kept_from(self.nexts)) is not None:
            partials = partials.filter(pc.greater_equal(partials[PANE], start))
        new = part_of(partials) if partials is not None and partials.num_rows else None
        return Made(new, self._closed(run, new), late)

    def accept(self, new: Part | None, run: Run) -> None:
        """Take the new partials in, and let go of windows that have closed."""
        before = self._all_parts()
        if new is not None:
            self.parts.append(new)
            tuples, partials = self.measured
            self.measured = ((tuples + run.count) / 2, (partials + new.rows.count) / 2)
        self.nexts = moved(self.nexts, self._mark(run.marks), spread_of(self._all_parts()))
        start = kept_from(self.nexts)
        if start is not None:
            self.parts = [from_pane(p, start) for p in self.parts if p.last_pane >= start]
            for name, parts in list(self.owned.items()):
                self.owned[name] = [p for p in parts if p.last_pane >= start]
        self.owned = {name: parts for name, parts in self.owned.items() if parts}
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(run.processor)
            self._delete([*before, *self.gone])
            self.gone = []

    def trial(self, members: Sequence[Member]) -> "SectionState":
        """Return a state that a run can be tried on, with only these members; this one stays."""
        trial = replace(self, begins=dict(self.begins), owned=dict(self.owned))
        trial.rearranged(members, BEGIN_OF_TIME)
        return trial

    def promises(self, marks: Sequence[int]) -> dict[str, int]:
        """Return the watermark of each member's rows when the input has this one."""
        ended = self._mark(marks) == END_OF_TIME
        return {m.key: END_OF_TIME if ended else self._promise(m) for m in self.members}

    def _promise(self, member: Member) -> int:
        number = self._next(member)
        return BEGIN_OF_TIME if number is None else member.aggregate.hops.start_of(number)

    def _first(self, member: Member) -> int | None:
        """Return the first window that a member answers for, or None where all count."""
        begin = self.begins[member.key]
        return None if begin == BEGIN_OF_TIME else member.aggregate.hops.first_from(begin)

    def _next(self, member: Member) -> int | None:
        """Return the first window of a member that has not closed."""
        found = (self.nexts[member.aggregate.hops], self._first(member))
        return max((number for number in found if number is not None), default=None)

    def _mark(self, marks: Sequence[int]) -> int:
        return shifted(marks[0], self.members[0].aggregate.time.offset)

    def _partials(self, run: Run) -> pa.Table | None:
        made = run.ahead
        if made is None and run.count:
            sql = self.makes(thinned=run.thinned).pane_sql(f"({run.input_sql()})")
            made = run.select(sql, run.plain_leaves(), wide=bool(self.layout.told.claims))
        if made is None or not made.num_rows:
            return None
        if run.thinned or self.unthinned is None:
            return made
        return with_shares(made, self.layout, self.unthinned)

    def _closed(self, run: Run, new: Part | None) -> Closed | None:
        """Return what the windows that close are made of."""
        parts = [*self.parts, *([new] if new is not None else [])]
        spread = spread_of([*self._all_parts(), *([new] if new is not None else [])])
        closing = closings(self.nexts, self._mark(run.marks), spread)
        if not closing:
            return None
        firsts = {member.key: self._first(member) for member in self.members}
        return Closer(self.layout, self.members, parts, self.owned, firsts).closed(run, closing)

    def _lift(self, run: Run) -> None:
        """Bring the parts to the way in which tuples are told apart now."""
        now = frozenset(member.key for member in self.members)
        if self.told == self.layout.told and self.known == now:
            return
        if self.parts or self.owned:
            self.gone = [*self.gone, *self._all_parts()]
            nothing = {view: ((), schema) for view, (_, schema) in run.leaves().items()}
            schema = run.select(self.layout.pane_sql(f"({run.input_sql()})"), nothing).schema
            plain = pa.schema([f for f in schema if f.name not in self.layout.told.names])
            self.parts = [self._lifted(part, schema) for part in self.parts]
            self.owned = {
                name: [replace(p, rows=in_memory(fit_to(table_of(p.rows), plain))) for p in parts]
                for name, parts in self.owned.items()
            }
        self.told, self.known = self.layout.told, now

    def _lifted(self, part: Part, schema: pa.Schema) -> Part:
        table = lifted(table_of(part.rows), self.told, self.layout.told, schema)
        return replace(part, rows=in_memory(table))

    def _late(self, run: Run, partials: pa.Table) -> dict[str, pa.Table]:
        """Return the tuples that came too late for each member."""
        earliest = pc.min(partials[PANE]).as_py()
        spans = {m.key: self._late_span(m) for m in self.members}
        late = {name: span for name, span in spans.items() if span and earliest < span[1]}
        if earliest is None or not late:
            return {}
        at = f"unix_micros({quoted(self.layout.time)})"
        told = self.layout.told.sql(f"({run.input_sql()})")
        before = max(span[1] for span in late.values())
        sql = f"SELECT *, {at} AS {AT} FROM {told} AS {INPUT} WHERE {at} < {before}L"
        rows = run.select(sql, run.leaves(), single=False)
        places, schema = rows[AT].to_numpy(), arrow_schema(self.members[0].base.schema)
        found: dict[str, pa.Table] = {}
        for member in self.members:
            if (span := late.get(member.key)) is not None:
                mask = asked_for(rows, self.layout.told, member.asked)
                mask &= (places >= span[0]) & (places < span[1])
                if mask.any():
                    found[member.key] = fit(rows.filter(pa.array(mask)), schema)
        return found

    def _late_span(self, member: Member) -> tuple[int, int] | None:
        """Return the places from and before which a tuple is late for a member."""
        number, first, hops = self._next(member), self._first(member), member.aggregate.hops
        if number is None or number == first:
            return None
        since = BEGIN_OF_TIME if first is None else hops.start_of(first)
        return since, hops.end_of(number - 1)

    def _all_parts(self) -> list[Part]:
        return [*self.parts, *(part for parts in self.owned.values() for part in parts)]

    def _tidy(self, processor: Processor) -> None:
        """Combine parts and spill large ones; what fails is tried again after the next run."""
        while parts := to_combine(self.parts):
            combined = part_of(self._combined(processor, parts), parts[0].level + 1)
            gone = {id(part) for part in parts}
            self.parts = [part for part in self.parts if id(part) not in gone] + [combined]
        for part in self.parts:
            if not part.rows.is_small:
                part.rows.leave_memory(processor.spill)

    def _delete(self, before: Sequence[Part]) -> None:
        """Remove the files of parts that are no more."""
        here = {id(part.rows) for part in self._all_parts()}
        for part in before:
            if id(part.rows) not in here:
                part.rows.delete()

    def _combined(self, processor: Processor, parts: Sequence[Part]) -> pa.Table:
        tables = [part.rows.table for part in parts]
        if all(table is not None for table in tables):
            whole = laid_together(tables)
            if is_small(whole):
                return whole  # not worth a job: laying them together makes one leaf as well
        view = own(f"parts_{id(self)}")
        leaves = {view: ([part.rows for part in parts], None)}
        return processor.select(leaves, self.layout.compact_sql(view), None, single=True)

    # -- checkpoints ---------------------------------------------------------------------

    def kept(self) -> Kept:
        """Return the state for a checkpoint."""
        parts = [_kept(part, "") for part in self.parts]
        parts += [_kept(part, name) for name, owned in self.owned.items() for part in owned]
        facts = {
            "begins": dict(self.begins),
            "nexts": [[hops.end, hops.lower, number] for hops, number in self.nexts.items()],
            "told": self.told.to_json(),
            "known": sorted(self.known),
        }
        return Kept(facts, parts)

    @classmethod
    def back(cls, members: Sequence[Member], kept: Kept) -> Self:
        """Return the state that a checkpoint kept."""
        state, facts = cls.new(members), kept.facts
        state.told, state.known = Told.from_json(facts["told"]), frozenset(facts["known"])
        state.begins = dict(facts["begins"])
        numbers = {(end, lower): number for end, lower, number in facts["nexts"]}
        hops = [member.aggregate.hops for member in members]
        state.nexts = {each: numbers[each.end, each.lower] for each in hops}
        for each in kept.parts:
            part = Part(each.rows, each.facts["first"], each.facts["last"], each.facts["level"])
            owner = each.facts["owner"]
            (state.owned.setdefault(owner, []) if owner else state.parts).append(part)
        return state


def _kept(part: Part, owner: str) -> KeptPart:
    facts = {"first": part.first_pane, "last": part.last_pane, "level": part.level, "owner": owner}
    return KeptPart(part.rows, facts)
