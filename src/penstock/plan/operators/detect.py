"""Detect: occurrences of primitive events in, detections of one event in one consumption mode out.

Primitive events are filters and projections over the inputs, their *bases*. The engine asks all
conditions over a base at once, and detects by `penstock.events`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from penstock.model.event_forms import event_text, shared_form
from penstock.model.events import Watch
from penstock.model.schema import Schema, quoted
from penstock.plan.operators.identity import key
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.tuples.filter import Filter
from penstock.plan.operators.tuples.project import Project
from penstock.sql.dialect.intervals import duration_sql

START, END = "_start", "_end"
SPAN = re.compile(r"\b(\d+) us\b")
SHORT = 6  # digits of a node's name that tell it apart in a text


@dataclass(frozen=True, slots=True)
class Detect:
    """The watch's leaves are named by the keys of `primitives`, its constituents by their places.

    `shows` are the output's columns: a name, and `place.column` of the constituent that it is
    taken from. `_start` and `_end` follow them.
    """

    watch: Watch
    primitives: tuple[Operator, ...]
    inputs: tuple[Operator, ...]
    shows: tuple[tuple[str, str], ...]
    schema: Schema

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the end: a detection is told when it ends."""
        return (EventTime(END),)

    def identity(self) -> tuple[object, ...]:
        """Return the form that equal expressions share; labels are no part of it."""
        watch = self.watch
        form = event_text(shared_form(watch.event).event)
        how = (str(watch.mode), watch.point, watch.cap)
        return (form, *how, self.shows, self.primitives, self.inputs)

    def text(self) -> str:
        """Show the expression, how it is detected, and what its leaves are."""
        form = with_spans(event_text(shared_form(self.watch.event).event))
        leaves = []
        for each in self.primitives:
            form = form.replace(key(each), key(each)[:SHORT])
            leaves.append(f"{key(each)[:SHORT]} is {' of '.join(_chain(each))}")
        point = " by points" if self.watch.point else ""
        cap = "" if self.watch.cap is None else f" keeping {self.watch.cap}"
        shown = ", ".join(f"{source} AS {quoted(name)}" for name, source in self.shows)
        how = f"in mode {self.watch.mode}{point}{cap}"
        return f"detect {form} {how}, showing {shown or 'nothing'}; {'; '.join(leaves)}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Refuse: detection is not Spark's work."""
        raise TypeError(f"{self.text()} is no SELECT")


def with_spans(text: str) -> str:
    """Return an event's text with lengths of time as they are written."""
    return SPAN.sub(lambda found: duration_sql(timedelta(microseconds=int(found[1]))), text)


def base_of(primitive: Operator) -> Operator:
    """Return what the filters and projections of a primitive event stand on."""
    while isinstance(primitive, Filter | Project):
        primitive = primitive.input
    return primitive


def bases_of(primitives: Sequence[Operator]) -> tuple[Operator, ...]:
    """Return the bases of primitive events, each once, in the order of their names."""
    found = {key(base): base for base in map(base_of, primitives)}
    return tuple(found[name] for name in sorted(found))


def _chain(node: Operator) -> Iterator[str]:
    while isinstance(node, Filter | Project):
        yield node.text()
        node = node.input
    yield f"{node.text()} ({key(node)[:SHORT]})"
