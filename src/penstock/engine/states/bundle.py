"""The state of a bundle: one of each section, run side by side."""

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import pyarrow as pa

from penstock.engine.rows import empty_table, in_memory
from penstock.engine.states.panes import PaneState
from penstock.engine.states.section import Made, SectionState
from penstock.engine.states.state import Kept, KeptPart, Run, State, Step
from penstock.engine.states.tails import finished
from penstock.plan.bundles.cover import cover_of, rolled_up_sql
from penstock.plan.bundles.member import Asking, Section, sections_of
from penstock.plan.bundles.tails import Tail, tail_of
from penstock.plan.operators import Bundle, FlowBundle

COVERED = 3  # so many passes over the tuples are dearer than one and a small job for each
COVER_ROWS = 20_000  # of fewer tuples it makes no difference
FEWER = 4  # times fewer partials than tuples are worth a cover
NOTHING = Made(None, None, {})


@dataclass(slots=True)
class BundleState:
    """`joining` is what members kept alone that are about to come in.

    `covers` says that going over the tuples once for several sections has not been in vain.
    """

    bundle: Bundle
    tails: dict[str, Tail] = field(default_factory=dict)
    sections: dict[Section, SectionState] = field(default_factory=dict)
    joining: dict[str, PaneState] = field(default_factory=dict)
    covers: bool = True

    def rearranged(self, bundle: Bundle | FlowBundle, begin: int) -> None:
        """Take the members of `bundle`: new ones answer for windows from `begin` on."""
        assert isinstance(bundle, Bundle)  # noqa: S101  (a bundle stays what it is)
        self.bundle, self.covers = bundle, True
        self.tails = {m.key: self.tails.get(m.key) or tail_of(m) for m in bundle.members}
        old, self.sections = self.sections, {}
        for section, members in sections_of(bundle.members).items():
            state = old.get(section) or SectionState.new(members)
            for member in members:
                if (alone := self.joining.pop(member.key, None)) is not None:
                    state.take_in(member, alone)
            state.rearranged(members, begin)
            self.sections[section] = state

    def take_in(self, member: Asking, alone: State | None) -> None:
        """Take over what a member kept alone, ahead of being rearranged with it."""
        assert isinstance(alone, PaneState)  # noqa: S101  (what an aggregate alone keeps)
        self.joining[member.key] = alone

    def take_out(self, member: Asking) -> State | None:
        """Return what a member would have kept alone."""
        state = next(s for s in self.sections.values() if member.key in s.begins)
        mine = next(each for each in state.members if each.key == member.key)
        return state.take_out(mine)

    def steps(self, run: Run) -> dict[str, Step]:
        """Turn tuples into partials, close windows, and return each member's rows, by its root."""
        states, made = self._made(run)
        members = self.bundle.members
        closed = [each.closed for each in made if each.closed is not None]
        tables = finished(run, closed, members, self.tails) if closed else {}
        for state, each in zip(states, made, strict=True):
            state.accept(each.new, run)
        late = {name: rows for each in made for name, rows in each.late.items()}
        return {
            m.key: Step(tables.get(m.key, empty_table(m.root.schema)), late.get(m.key))
            for m in members
        }

    def _made(self, run: Run) -> tuple[list[SectionState], list[Made]]:
        """Let every section make what it can of the run; a cover's after those that need none."""
        states = list(self.sections.values())
        covered = _coverable(states)
        if len(covered) < COVERED or run.count < COVER_ROWS or not self.covers:
            return states, run.processor.side_by_side(_makings(states, run))
        direct = [state for state in states if not any(state is each for each in covered)]
        cover = cover_of([state.layout for state in covered])
        partials: list[pa.Table] = []

        def find() -> Made:
            view = replace(run, lane=len(states))
            sql = cover.pane_sql(f"({view.input_sql()})")
            partials.append(view.select(sql, view.leaves()))
            return NOTHING

        first = run.processor.side_by_side([find, *_makings(direct, run)])[1:]
        # Where keys are many, going over the tuples for each section is not dearer.
        self.covers = partials[0].num_rows * FEWER < run.count
        if not self.covers or not partials[0].num_rows:
            rest = run.processor.side_by_side(_makings(covered, run))
        else:
            rest = run.processor.side_by_side(_makings(covered, run, partials[0]))
        return [*direct, *covered], [*first, *rest]

    def probe(self, run: Run, members: Sequence[Asking]) -> None:
        """Raise what a run would raise if only these members were here; nothing changes."""
        wanted = {member.key for member in members}
        some = tuple(member for member in self.bundle.members if member.key in wanted)
        made = [
            self.sections[section].trial(theirs).made(run)
            for section, theirs in sections_of(some).items()
        ]
        finished(run, [each.closed for each in made if each.closed is not None], some, self.tails)

    def promises(self, marks: Sequence[int]) -> dict[str, int]:
        """Return the watermark of each member's rows when the input has this one."""
        found: dict[str, int] = {}
        for state in self.sections.values():
            found |= state.promises(marks)
        return found

    def kept(self) -> Kept:
        """Return the state for a checkpoint."""
        kept = [state.kept() for state in self.sections.values()]
        parts = [
            KeptPart(part.rows, {**part.facts, "section": place})
            for place, each in enumerate(kept)
            for part in each.parts
        ]
        return Kept({"sections": [dict(each.facts) for each in kept]}, parts)

    @classmethod
    def back(cls, bundle: Bundle, kept: Kept) -> Self:
        """Return the state that a checkpoint kept."""
        state = cls(bundle, {member.key: tail_of(member) for member in bundle.members})
        for place, facts in enumerate(kept.facts["sections"]):
            members = [member for member in bundle.members if member.key in facts["begins"]]
            parts = [part for part in kept.parts if part.facts["section"] == place]
            if members:
                section = SectionState.back(members, Kept(facts, parts))
                state.sections[members[0].section] = section
        return state


def _coverable(states: Sequence[SectionState]) -> list[SectionState]:
    """Return the sections that tell nothing apart, those of the most common pane.

    One with shorter panes would make the cover as fine for everybody.
    """
    plain = [state for state in states if not state.layout.told]
    panes = Counter(state.layout.pane for state in plain)
    (pane, _), *_ = panes.most_common(1) or [(0, 0)]
    return [state for state in plain if state.layout.pane == pane]


def _makings(
    states: Sequence[SectionState], run: Run, cover: pa.Table | None = None
) -> list[Callable[[], Made]]:
    """Return what each of the sections does, from tuples or from a cover's partials."""

    def making(state: SectionState, mine: Run) -> Made:
        if cover is not None:
            view = mine.view("cover")
            sql = rolled_up_sql(state.layout, view)
            mine = replace(mine, ahead=mine.select(sql, {view: ([in_memory(cover)], None)}))
        return state.made(mine)

    lanes = [(state, replace(run, lane=lane)) for lane, state in enumerate(states)]
    return [functools.partial(making, state, mine) for state, mine in lanes]
