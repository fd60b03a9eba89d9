"""What one task of a flow does: in this process over items, in a worker's over files of them.

Workers import this module, so nothing here imports Spark. What a worker gives back is plain values:
its classes may not be the driver's.
"""

import time
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from penstock.engine.workers.crossing import read_items, write_items
from penstock.engine.workers.held import HeldItem, held_items
from penstock.functions.data.operator_state import OperatorState, from_bytes, to_bytes
from penstock.functions.flows.figures import NodeFigures
from penstock.functions.flows.flow import Source
from penstock.functions.flows.program import Program, run_program
from penstock.functions.operators.operator import InputItems

States = Mapping[str, OperatorState]
Arrivals = Mapping[Source, InputItems]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TaskInput:
    """A task and what it works on: all that arrived, or the items from one place to another."""

    program: Program
    states: States
    arrivals: Arrivals
    now: float
    span: Span | None = None

    @property
    def at_hand(self) -> Arrivals:
        """Return what it works on."""
        return {source: spanned(each, self.span) for source, each in self.arrivals.items()}


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task gave; `crossing` are the seconds in which it read and wrote."""

    out: Mapping[int, InputItems]
    states: States
    held: tuple[HeldItem, ...]
    figures: tuple[NodeFigures, ...]
    crossing: float = 0.0
    lost: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """A task as it is sent: `ways` has the file and the progress of what comes in.

    Its own files go to `room`.
    """

    program: Program
    states: bytes
    ways: Mapping[Source, tuple[str, int]]
    room: str
    now: float
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Unload:
    """What a task gave, as it comes back: `ways` has the file and the progress of what goes out."""

    ways: tuple[tuple[int, str, int], ...]
    states: bytes
    held: tuple[tuple[Any, ...], ...]
    figures: tuple[tuple[Any, ...], ...]
    crossing: float


def spanned(arrival: InputItems, span: Span | None) -> InputItems:
    """Return the items of a span, or all of them."""
    return arrival if span is None else InputItems(arrival.items.slice(*span), arrival.progress)


def done(work: TaskInput) -> TaskResult:
    """Do a task over items that are at hand."""
    program = work.program
    ran = run_program(program, work.states, work.at_hand, work.now, time.perf_counter)
    sites = {number: node.site for number, node in zip(program.numbers, program.nodes, strict=True)}
    return TaskResult(ran.out, ran.states, held_items(ran.withheld, sites), ran.figures)


def done_in_worker(load: Load) -> tuple[Any, ...]:
    """Do a task over files, and return the fields of an `Unload`."""
    began = time.perf_counter()
    kinds = dict(load.program.types_in)
    arrivals = {
        source: InputItems(read_items(Path(path), kinds[source]), progress)
        for source, (path, progress) in load.ways.items()
    }
    before = time.perf_counter()
    result = done(TaskInput(load.program, from_bytes(load.states), arrivals, load.now, load.span))
    after = time.perf_counter()
    ways = []
    for number, arrival in result.out.items():
        path = Path(load.room) / f"{number}.arrow"
        write_items(arrival.items, path)
        ways.append((number, str(path), arrival.progress))
    crossing = before - began + time.perf_counter() - after
    figures = tuple(astuple(each) for each in result.figures)
    held = tuple(tuple(each) for each in result.held)
    return tuple(ways), to_bytes(result.states), held, figures, crossing


def brought_back(program: Program, unload: Unload) -> TaskResult:
    """Return what a worker gave as items; its files can go then."""
    kinds = {
        n: operator.type for n, operator in zip(program.numbers, program.operators, strict=True)
    }
    out = {
        number: InputItems(read_items(Path(path), kinds[number]), progress)
        for number, path, progress in unload.ways
    }
    held = tuple(HeldItem(*each) for each in unload.held)
    figures = tuple(NodeFigures(*each) for each in unload.figures)
    return TaskResult(out, from_bytes(unload.states), held, figures, unload.crossing)
