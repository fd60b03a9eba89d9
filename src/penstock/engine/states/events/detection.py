"""Detection: occurrences of primitive events go into a detector, detections come out.

All events over the same bases are one detection graph. Whoever comes in later shares the nodes
that stand with what they hold.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.states.events.detection_run import Detecting
from penstock.engine.states.events.masks import Masks
from penstock.engine.states.reads import table_of
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput
from penstock.engine.states.tuples.ordered import with_whole_leaves
from penstock.engine.trains.rows import empty_table, fit, in_memory, laid_together
from penstock.engine.trains.types import arrow_schema
from penstock.events.detection.detector import Detections, KeptEvents
from penstock.events.occurrences.event_input import ORDER
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators import Detect, Operator, key
from penstock.plan.operators.bundles.event_member import primitives_of
from penstock.plan.operators.detect import END, START, base_of
from penstock.plan.operators.lateness import MISSED

BASE_BITS = 44  # of an occurrence's number are its place in its base: more than ever come


@dataclass(slots=True)
class Detection:
    """The detection graph of some events over their bases.

    `looked_at` counts the tuples of each base, `found` the detections of each event.
    """

    bases: tuple[Operator, ...]
    detects: dict[str, Detect]
    detecting: Detecting
    looked_at: list[int]
    found: dict[str, int] = field(default_factory=dict)
    masks: tuple[Masks, ...] = ()

    @classmethod
    def of(
        cls,
        bases: tuple[Operator, ...],
        detects: Mapping[str, Detect],
        kept: Sequence[KeptEvents] = (),
        looked_at: Sequence[int] = (),
    ) -> Self:
        """Return the graph of these events, with what was kept of its nodes."""
        watches = {name: detect.watch for name, detect in detects.items()}
        primitives = primitives_of(detects.values())
        schemas = {name: _schema(primitive) for name, primitive in primitives.items()}
        detecting = Detecting(watches, schemas, kept)
        counts = list(looked_at) or [0] * len(bases)
        masks = _masks_of(bases, primitives.values())
        return cls(bases, dict(detects), detecting, counts, dict.fromkeys(detects, 0), masks)

    def step(self, run: Run) -> dict[str, RunOutput]:
        """Take the run's tuples in, and return the detections of each event."""
        tables, looked_at = self._occurrences(run) if run.count else ({}, self.looked_at)
        answer = self.detecting.step(run, tables, self.mark(run.marks))
        steps = {name: _step(each, name, answer) for name, each in self.detects.items()}
        self.looked_at = looked_at
        for name, step in steps.items():
            self.found[name] += step.table.num_rows
        return steps

    def probe(self, run: Run, names: Iterable[str]) -> None:
        """Raise what the masks of some events raise; nothing changes."""
        some = [self.detects[name] for name in names if name in self.detects]
        for masks in _masks_of(self.bases, primitives_of(some).values()):
            masks.occurrences(run)

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

    def of_others(self, detects: Mapping[str, Detect], *more: "Detection") -> "Detection":
        """Return the graph of other events; nodes that stand keep what they hold.

        `more` are graphs that become part of it.
        """
        if detects == self.detects and not more:
            return self
        kept = [each.detecting.kept for each in (self, *more) if each.detects]
        made = Detection.of(self.bases, detects, kept, self.looked_at)
        for each in (self, *more):
            made.found |= {name: n for name, n in each.found.items() if name in detects}
        return made

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        kept = self.detecting.kept
        facts = {"facts": dict(kept.facts), "looked_at": self.looked_at, "found": self.found}
        tables = kept.tables.items()
        return KeptState(
            facts, [KeptPart(in_memory(rows), {"table": name}) for name, rows in tables]
        )

    @classmethod
    def back(
        cls, bases: tuple[Operator, ...], detects: Mapping[str, Detect], kept: KeptState
    ) -> Self:
        """Return the state that a checkpoint kept."""
        tables = {part.facts["table"]: table_of(part.rows) for part in kept.parts}
        events = KeptEvents(kept.facts["facts"], tables)
        made = cls.of(bases, detects, (events,), kept.facts["looked_at"])
        made.found |= kept.facts["found"]
        return made

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


def _masks_of(bases: Sequence[Operator], primitives: Iterable[Operator]) -> tuple[Masks, ...]:
    """Return the masks of primitive events, those of one base together."""
    mine: dict[str, list[Operator]] = {}
    for each in primitives:
        mine.setdefault(key(base_of(each)), []).append(each)
    return tuple(
        Masks.of(place, base, mine[key(base)])
        for place, base in enumerate(bases)
        if key(base) in mine
    )


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


def _step(detect: Detect, name: str, answer: Detections) -> RunOutput:
    found = answer.detections.get(name)
    if found is None or not found.num_rows:
        table = empty_table(detect.schema)
    else:
        names = [*(source for _, source in detect.shows), START, END]
        shown = pa.table([found[each] for each in names], names=list(detect.schema.names))
        table = fit(shown, arrow_schema(detect.schema))
    late = [answer.late[key(each)] for each in detect.primitives if key(each) in answer.late]
    missed = [_missed(table) for table in late if table.num_rows]
    return RunOutput(table, laid_together(missed) if missed else None)


def _missed(table: pa.Table) -> pa.Table:
    """Return late occurrences of any primitive event in one form."""
    rows = table.drop_columns([name for name in (START, END, ORDER) if name in table.column_names])
    texts = [json.dumps(row, default=str) for row in rows.to_pylist()]
    columns = [table[END].cast(pa.timestamp("us", "UTC")), pa.array(texts, pa.string())]
    return fit(pa.table(columns, names=list(MISSED.names)), arrow_schema(MISSED))
