"""Random expressions and histories, and how a detector is led through them."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from penstock.events.detection.detector import END, END_OF_TIME, ORDER, START, Detector
from penstock.model.events import (
    And,
    AnyOf,
    Aperiodic,
    Event,
    Mode,
    Not,
    Or,
    Periodic,
    Plus,
    Primitive,
    Seq,
    Watch,
    primitives,
)
from tests.unit.events.oracle import Detection, Row

NAMES = ("a", "b", "c", "long")
INSTANTS = NAMES[:-1]
SCHEMA = pa.schema(
    [
        (START, pa.int64()),
        (END, pa.int64()),
        (ORDER, pa.int64()),
        ("room", pa.string()),
        ("number", pa.int64()),
    ]
)
SCHEMAS = dict.fromkeys(NAMES, SCHEMA)
MODES = st.sampled_from(list(Mode))
SPANS = st.none() | st.integers(1, 8)


def labelled(event: Event, numbers: Any) -> Event:
    """Return an expression in which every constituent has its own label."""
    match event:
        case Primitive():
            return Primitive(event.name, f"l{next(numbers)}", event.key, event.lasts)
        case Or() | And() | Seq():
            parts = tuple(labelled(part, numbers) for part in event.parts)
            return type(event)(parts, event.within)
        case AnyOf():
            parts = tuple(labelled(part, numbers) for part in event.parts)
            return AnyOf(event.count, parts, event.within)
        case Not():
            first, middle, last = (
                labelled(part, numbers) for part in (event.first, event.middle, event.last)
            )
            return Not(middle, first, last, event.within)
        case Aperiodic():
            first, middle, last = (
                labelled(part, numbers) for part in (event.first, event.middle, event.last)
            )
            return Aperiodic(first, middle, last, event.all_at_last, event.within)
        case Periodic():
            first, last = (labelled(part, numbers) for part in (event.first, event.last))
            label = f"l{next(numbers)}"
            return Periodic(first, event.every, last, event.all_at_last, label, event.within)
        case Plus():
            return Plus(labelled(event.event, numbers), event.after, event.within)


@st.composite
def events(draw: st.DrawFn, depth: int = 2, key: tuple[str, ...] = ()) -> Event:
    return labelled(draw(shapes(depth, key)), count())


@st.composite
def shapes(draw: st.DrawFn, depth: int, key: tuple[str, ...]) -> Event:
    kinds = ["or", "and", "seq", "seq", "any", "not", "a", "a*", "p", "p*", "plus"]
    kind = "leaf" if depth == 0 else draw(st.sampled_from(["leaf", *kinds]))
    if kind == "leaf":
        name = draw(st.sampled_from(NAMES))
        return Primitive(name, key=key, lasts=name == "long")
    return draw(of_kind(kind, depth, key))


@st.composite
def of_kind(draw: st.DrawFn, kind: str, depth: int, key: tuple[str, ...]) -> Event:
    part = shapes(depth - 1, key)
    within = draw(SPANS)

    def parts(least: int) -> tuple[Event, ...]:
        return tuple(draw(st.lists(part, min_size=least, max_size=3)))

    match kind:
        case "or":
            return Or(parts(2), within)
        case "and":
            return And(parts(2), within)
        case "seq":
            return Seq(parts(2), within)
        case "any":
            some = parts(2)
            return AnyOf(draw(st.integers(1, len(some))), some, within)
        case "not":
            return Not(draw(part), draw(part), draw(part), within)
        case "a" | "a*":
            return Aperiodic(draw(part), draw(part), draw(part), kind == "a*", within)
        case "p" | "p*":
            every = draw(st.integers(1, 4))
            return Periodic(draw(part), every, draw(part), kind == "p*", within=within)
        case _:
            return Plus(draw(part), draw(st.integers(1, 4)), within)


@st.composite
def histories(draw: st.DrawFn, longest: int = 9, keys: bool = False) -> list[Row]:
    """Draw rows, many of them at the same time, and some that are occurrences of several events."""
    size = draw(st.integers(0, longest))
    order = draw(st.permutations(range(size)))
    rows = []
    for number in range(size):
        name = draw(st.sampled_from(NAMES))
        end = draw(st.integers(0, 12))
        start = end - draw(st.integers(0, 4)) if name == "long" else end
        key = draw(st.sampled_from([0, 1, None])) if keys else None
        rows.append(Row(name, start, end, order[number], key, number))
        for other in draw(st.sets(st.sampled_from(INSTANTS), max_size=1)) - {name}:
            if name != "long":
                rows.append(Row(other, start, end, order[number], key, number))
    return rows


def tables(rows: Sequence[Row]) -> dict[str, pa.Table]:
    """Return rows as a detector takes them."""
    found = {}
    for name in NAMES:
        mine = [row for row in rows if row.primitive == name]
        found[name] = pa.table(
            [
                [row.start for row in mine],
                [row.end for row in mine],
                [row.seq for row in mine],
                [None if row.key is None else f"room {row.key}" for row in mine],
                [row.number for row in mine],
            ],
            schema=SCHEMA,
        )
    return found


def known(given: Mapping[str, pa.Table], watches: Mapping[str, Watch]) -> dict[str, pa.Table]:
    """Return the tables of the events that watches name."""
    names = {leaf.name for watch in watches.values() for leaf in primitives(watch.event)}
    return {name: table for name, table in given.items() if name in names}


def detector(watches: Mapping[str, Watch], *kept: Any) -> Detector:
    return Detector(watches, SCHEMAS, kept)


def at_once(watches: Mapping[str, Watch], rows: Sequence[Row]) -> dict[str, list[Detection]]:
    """Return what is detected when all rows come in one step, and nothing after them."""
    answer = detector(watches).step(known(tables(rows), watches), END_OF_TIME)
    return {name: read(table) for name, table in answer.detections.items()}


def read(table: pa.Table) -> list[Detection]:
    """Return detections as the oracle writes them."""
    found: list[Detection] = []
    for row in table.to_pylist():
        of: dict[str, list[int]] = {}
        for name, value in row.items():
            label, dot, column = name.partition(".")
            if not dot or column == "room" or value is None or value == []:
                continue
            of[label] = value if isinstance(value, list) else [value]
        found.append((row[START], row[END], of))
    return found
