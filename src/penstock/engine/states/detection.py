"""Detection: occurrences of primitive events go into detectors, detections come out.

Events that came at the same time share one detection graph, their *cohort*. Who comes later sees
only what comes later, and so has a graph of its own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.rows import empty_table, fit, in_memory, laid_together
from penstock.engine.states.masks import ORDER, Masks
from penstock.engine.states.ordered import with_whole_leaves
from penstock.engine.states.reading import table_of
from penstock.engine.states.state import Kept, KeptPart, Run, Step
from penstock.engine.types import arrow_schema
from penstock.events.detector import Answer, Detector, KeptEvents, NodeFacts
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.bundles.event_member import primitives_of
from penstock.plan.lateness import MISSED
from penstock.plan.operators import Detect, Operator, key
from penstock.plan.operators.detect import END, START, base_of

BASE_BITS = 44  # of an occurrence's number are its place in its base: more than ever come


@dataclass(slots=True)
class Cohort:
    """Events that share one detection graph, by their keys."""

    detects: dict[str, Detect]
    detector: Detector

    @classmethod
    def of(cls, detects: Mapping[str, Detect], kept: Sequence[KeptEvents] = ()) -> Self:
        """Return a graph for these events, with what was kept of one for them or more."""
        watches = {name: detect.watch for name, detect in detects.items()}
        schemas = {
            name: _schema(primitive) for name, primitive in primitives_of(detects.values()).items()
        }
        return cls(dict(detects), Detector(watches, schemas, kept))

    def only(self, names: Iterable[str]) -> "Cohort":
        """Return the graph without the events that are not among these."""
        left = {name: self.detects[name] for name in names if name in self.detects}
        return self if left == self.detects else Cohort.of(left, (self.detector.kept(),))


@dataclass(slots=True)
class Detection:
    """What detecting events over some bases keeps; `looked_at` counts the tuples of each base."""

    bases: tuple[Operator, ...]
    cohorts: list[Cohort] = field(default_factory=list)
    looked_at: list[int] = field(default_factory=list)
    found: dict[str, int] = field(default_factory=dict)
    masks: tuple[Masks, ...] = ()

    def __post_init__(self) -> None:
        """Make the masks of all primitive events."""
        self.looked_at = self.looked_at or [0] * len(self.bases)
        self.masks = self._masks(self.detects)

    @property
    def detects(self) -> dict[str, Detect]:
        """Return the events, by their keys."""
        return {name: each for cohort in self.cohorts for name, each in cohort.detects.items()}

    def step(self, run: Run) -> dict[str, Step]:
        """Take the run's tuples in, and return the detections of each event."""
        occurrences = self._occurrences(run) if run.count else ({}, self.looked_at)
        tables, looked_at = occurrences
        mark = self.mark(run.marks)
        steps: dict[str, Step] = {}
        for cohort in self.cohorts:
            names = primitives_of(cohort.detects.values())
            answer = cohort.detector.step({n: tables[n] for n in names if n in tables}, mark)
            steps |= {n: _step(each, n, answer) for n, each in cohort.detects.items()}
        self.looked_at = looked_at
        for name, step in steps.items():
            self.found[name] = self.found.get(name, 0) + step.table.num_rows
        return steps

    def probe(self, run: Run, names: Iterable[str]) -> None:
        """Raise what the masks of some events raise; nothing changes."""
        detects = self.detects
        some = {name: detects[name] for name in names if name in detects}
        for each in self._masks(some):
            each.occurrences(run)

    def mark(self, marks: Sequence[int]) -> int:
        """Return before which time all occurrences are known."""
        if all(mark == END_OF_TIME for mark in marks):
            return END_OF_TIME
        found = [
            shifted(marks[masks.place], member.root.times[0].offset)
            for masks in self.masks
            for member in masks.members
        ]
        return min(found, default=min(marks))

    def rearranged(self, detects: Mapping[str, Detect]) -> None:
        """Detect these events: those that leave take theirs along, new ones begin now."""
        there = self.detects
        self.cohorts = [
            cohort.only(detects)
            for cohort in self.cohorts
            if not detects.keys().isdisjoint(cohort.detects)
        ]
        new = {name: each for name, each in detects.items() if name not in there}
        if new:
            self.cohorts.append(Cohort.of(new))
        self.found = {name: self.found.get(name, 0) for name in detects}
        self.masks = self._masks(self.detects)

    def taken_out(self, name: str) -> "Detection":
        """Return what an event would have kept alone."""
        cohort = next(each for each in self.cohorts if name in each.detects)
        return Detection(
            self.bases, [cohort.only([name])], list(self.looked_at), {name: self.found.get(name, 0)}
        )

    def graph(self, name: str) -> tuple[NodeFacts, ...]:
        """Return the detection graph that an event is part of."""
        cohort = next((each for each in self.cohorts if name in each.detects), None)
        return cohort.detector.graph() if cohort is not None else ()

    def kept(self) -> Kept:
        """Return the state for a checkpoint."""
        facts: list[dict[str, Any]] = []
        parts: list[KeptPart] = []
        for place, cohort in enumerate(self.cohorts):
            kept = cohort.detector.kept()
            facts.append({"events": sorted(cohort.detects), "facts": dict(kept.facts)})
            parts += [
                KeptPart(in_memory(table), {"cohort": place, "table": name})
                for name, table in kept.tables.items()
            ]
        return Kept({"cohorts": facts, "looked_at": self.looked_at, "found": self.found}, parts)

    @classmethod
    def back(cls, bases: tuple[Operator, ...], detects: Mapping[str, Detect], kept: Kept) -> Self:
        """Return the state that a checkpoint kept."""
        cohorts = []
        for place, each in enumerate(kept.facts["cohorts"]):
            tables = {
                part.facts["table"]: table_of(part.rows)
                for part in kept.parts
                if part.facts["cohort"] == place
            }
            there = {name: detects[name] for name in each["events"] if name in detects}
            if there:
                cohorts.append(Cohort.of(there, (KeptEvents(each["facts"], tables),)))
        return cls(bases, cohorts, list(kept.facts["looked_at"]), dict(kept.facts["found"]))

    def _masks(self, detects: Mapping[str, Detect]) -> tuple[Masks, ...]:
        primitives = primitives_of(detects.values()).values()
        found = []
        for place, base in enumerate(self.bases):
            mine = [each for each in primitives if key(base_of(each)) == key(base)]
            found += [Masks.of(place, base, mine)] if mine else []
        return tuple(found)

    def _occurrences(self, run: Run) -> tuple[dict[str, pa.Table], list[int]]:
        """Return the occurrences of each primitive event, numbered in the order of arrival."""
        whole, looked_at = with_whole_leaves(run), list(self.looked_at)
        tables: dict[str, pa.Table] = {}
        for masks in self.masks:
            found, count = masks.occurrences(whole)
            first = (masks.place << BASE_BITS) + looked_at[masks.place]
            tables |= {name: _as_occurrences(table, first) for name, table in found.items()}
            looked_at[masks.place] += count
        return tables, looked_at


def _schema(primitive: Operator) -> pa.Schema:
    """Return the columns of a primitive event as the detector sees them."""
    fields = [field for field in arrow_schema(primitive.schema) if field.name not in (START, END)]
    bounds = [pa.field(name, pa.int64()) for name in (START, END, ORDER)]
    return pa.schema([*fields, *bounds])


def _as_occurrences(table: pa.Table, first: int) -> pa.Table:
    """Return the rows with their times as numbers; what has no time comes before all else."""
    for name in (START, END):
        micros = pc.fill_null(table[name].cast(pa.int64()), BEGIN_OF_TIME)
        table = table.set_column(table.column_names.index(name), name, micros)
    order = pa.array(table[ORDER].to_numpy() + np.int64(first))
    return table.set_column(table.column_names.index(ORDER), ORDER, order)


def _step(detect: Detect, name: str, answer: Answer) -> Step:
    found = answer.detections.get(name)
    if found is None or not found.num_rows:
        table = empty_table(detect.schema)
    else:
        names = [*(source for _, source in detect.shows), START, END]
        shown = pa.table([found[each] for each in names], names=list(detect.schema.names))
        table = fit(shown, arrow_schema(detect.schema))
    late = [answer.late[key(each)] for each in detect.primitives if key(each) in answer.late]
    missed = [_missed(table) for table in late if table.num_rows]
    return Step(table, laid_together(missed) if missed else None)


def _missed(table: pa.Table) -> pa.Table:
    """Return late occurrences of any primitive event in one form."""
    rows = table.drop_columns([name for name in (START, END, ORDER) if name in table.column_names])
    texts = [json.dumps(row, default=str) for row in rows.to_pylist()]
    columns = [table[END].cast(pa.timestamp("us", "UTC")), pa.array(texts, pa.string())]
    return fit(pa.table(columns, names=list(MISSED.names)), arrow_schema(MISSED))
