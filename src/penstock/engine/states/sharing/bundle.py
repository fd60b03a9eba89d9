"""The state of a bundle: one of each section, run side by side."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import pyarrow as pa

from penstock.engine.states.sharing.passes import Pass
from penstock.engine.states.sharing.post_aggregation import finished
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput, State
from penstock.engine.states.windows.aggregate import AggregateRun, AggregateState
from penstock.engine.trains.rows import empty_table
from penstock.plan.operators import AnyBundle, Bundle, key
from penstock.plan.operators.bundles.member import Asking, Section, sections_of
from penstock.plan.sharing.layout import Layout
from penstock.plan.sharing.post_aggregation import PostAggregation, post_aggregation_of
from penstock.plan.sharing.regroup import Lot, regrouped


@dataclass(slots=True)
class BundleState:
    """`joining` is what members kept alone that are about to come in.

    `passes` are made once for the members that are here: over tuples that may have been thinned,
    and over others.
    """

    bundle: Bundle
    post_aggregations: dict[str, PostAggregation] = field(default_factory=dict)
    sections: dict[Section, AggregateState] = field(default_factory=dict)
    joining: dict[str, AggregateState] = field(default_factory=dict)
    passes: dict[bool, Pass] = field(default_factory=dict)

    def rearranged(self, bundle: AnyBundle, begin: int) -> None:
        """Take the members of `bundle`: new ones answer for windows from `begin` on."""
        assert isinstance(bundle, Bundle)  # noqa: S101  (a bundle stays what it is)
        for member in bundle.members:  # who goes to another lot takes along what is kept for it
            if (was := self._section_of(member)) is not None and was != member.section:
                self.joining[member.key] = self.take_out(member)
        self.bundle, self.passes = bundle, {}
        self.post_aggregations = {
            m.key: self.post_aggregations.get(m.key) or post_aggregation_of(m)
            for m in bundle.members
        }
        old, self.sections = self.sections, {}
        for section, members in sections_of(bundle.members).items():
            state = old.get(section) or AggregateState.new(members)
            for member in members:
                if (alone := self.joining.pop(member.key, None)) is not None:
                    state.take_in(member, alone)
            state.rearranged(members, begin)
            self.sections[section] = state

    def take_in(self, member: Asking, alone: State | None) -> None:
        """Take over what a member kept alone, ahead of being rearranged with it."""
        assert isinstance(alone, AggregateState)  # noqa: S101  (what an aggregate alone keeps)
        self.joining[member.key] = alone

    def _section_of(self, member: Asking) -> Section | None:
        return next((n for n, state in self.sections.items() if member.key in state.begins), None)

    def lots(self) -> dict[str, int]:
        """Return the lot of every member that should be in another one than it is."""
        return regrouped(
            [
                Lot(section, tuple(state.begins), *state.measured)
                for section, state in self.sections.items()
                if section.predicates
            ]
        )

    def take_out(self, member: Asking) -> AggregateState:
        """Return what a member would have kept alone."""
        state = next(s for s in self.sections.values() if member.key in s.begins)
        mine = next(each for each in state.members if each.key == member.key)
        return state.take_out(mine)

    def steps(self, run: Run) -> dict[str, RunOutput]:
        """Turn tuples into partials, close windows, and return each member's rows, by its root."""
        states, made = self._made(run)
        members = self.bundle.members
        closed = [each.closed for each in made if each.closed is not None]
        tables = finished(run, closed, members, self.post_aggregations) if closed else {}
        for state, each in zip(states, made, strict=True):
            state.accept(each, run)
        late = {name: rows for each in made for name, rows in each.late.items()}
        # Members with one aggregate miss the same tuples, whatever they make of its windows.
        return {
            m.key: RunOutput(
                tables.get(m.key, empty_table(m.root.schema)), late.get(m.key), key(m.aggregate)
            )
            for m in members
        }

    def _made(self, run: Run) -> tuple[list[AggregateState], list[AggregateRun]]:
        """Run every section."""
        states = list(self.sections.values())
        partials: Mapping[int, pa.Table] = dict(enumerate(run.shared))
        if run.count and not run.shared:
            partials = self._pass(thinned=run.thinned).scanned(run)
        works = [
            functools.partial(each.made, replace(run, lane=place, ahead=partials.get(place)))
            for place, each in enumerate(states)
        ]
        return states, run.processor.side_by_side(works)

    def wanted(self, *, thinned: bool) -> list[tuple[Section, Layout]]:
        """Return what is made of a run's tuples, section by section."""
        found = []
        for section, state in self.sections.items():
            layout = state.makes(thinned=thinned)
            found.append((replace(section, keys=layout.keys), layout))
        return found

    def _pass(self, *, thinned: bool) -> Pass:
        if thinned not in self.passes:
            self.passes[thinned] = Pass.over(self.wanted(thinned=thinned), self.bundle.input.schema)
        return self.passes[thinned]

    def probe(self, run: Run, members: Sequence[Asking]) -> None:
        """Raise what a run would raise if only these members were here; nothing changes."""
        wanted = {member.key for member in members}
        some = tuple(member for member in self.bundle.members if member.key in wanted)
        made = [
            self.sections[section].trial(theirs).made(run)
            for section, theirs in sections_of(some).items()
        ]
        finished(
            run,
            [each.closed for each in made if each.closed is not None],
            some,
            self.post_aggregations,
        )

    def promises(self, marks: Sequence[int]) -> dict[str, int]:
        """Return the watermark of each member's rows when the input has this one."""
        found: dict[str, int] = {}
        for state in self.sections.values():
            found |= state.promises(marks)
        return found

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        kept = [state.kept() for state in self.sections.values()]
        parts = [
            KeptPart(part.rows, {**part.facts, "section": place})
            for place, each in enumerate(kept)
            for part in each.parts
        ]
        return KeptState({"sections": [dict(each.facts) for each in kept]}, parts)

    @classmethod
    def back(cls, bundle: Bundle, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        state = cls(bundle, {member.key: post_aggregation_of(member) for member in bundle.members})
        for place, facts in enumerate(kept.facts["sections"]):
            members = [member for member in bundle.members if member.key in facts["begins"]]
            parts = [part for part in kept.parts if part.facts["section"] == place]
            if members:
                section = AggregateState.back(members, KeptState(facts, parts))
                state.sections[members[0].section] = section
        return state
