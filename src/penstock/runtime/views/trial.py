"""Trials: what units cost over trains that are still held, each run on a state of its own.

A trial is one run from a fresh state to the end of time. It sees copies of the trains, so nothing
that runs changes.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import pyarrow as pa

from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states import new_state, new_together
from penstock.engine.states.state import Run
from penstock.engine.trains.buffers import Buffer, BufferPool
from penstock.engine.trains.rows import Rows, empty_table, in_memory
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import AnyBundle, Bundle, EventBundle, FlowBundle, JoinBundle
from penstock.plan.operators.bundles.event_member import EventMember
from penstock.plan.operators.bundles.join_member import JoinMember
from penstock.plan.operators.bundles.member import Asking, Member
from penstock.plan.sharing.units import Unit

MOST_ROWS = 200_000  # enough for a job's fixed costs not to be all, and still a second or two
SAMPLES = 3  # members that stand for all: each is a job or more
TIMES = 2  # the first is slower: Spark compiles what it has not seen

Held = Mapping[str, pa.Table]  # the rows of a unit's leaves, by their keys
Timer = Callable[[], float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trial:
    """The seconds that a query takes alone, and its bundle with and without it."""

    rows: int
    members: int
    alone: float
    together: float
    without: float | None

    def text(self) -> str:
        """Return it as EXPLAIN shows it."""
        less = "" if self.without is None else f", without it {self.without:.3f} s"
        bundle = f"the bundle of {self.members:,} {self.together:.3f} s"
        return f"alone {self.alone:.3f} s, {bundle}{less}, over {self.rows:,} rows"


def held_rows(unit: Unit, buffers: BufferPool, most: int = MOST_ROWS) -> Held:
    """Return copies of the latest rows that the unit's inputs still hold."""
    share = most // len(unit.inputs)
    found = ((name, buffers.get(name)) for name in unit.inputs)
    with buffers.lock:  # so that no train goes while it is read
        return {name: _latest(buffer, share) for name, buffer in found if buffer is not None}


def try_member(
    processor: Processor, unit: Unit, member: Asking, held: Held, timer: Timer = time.perf_counter
) -> Trial:
    """Return what a member costs alone, and what it adds to its bundle."""
    units = {"alone": alone(unit, member), "together": unit, "without": without(unit, member)}
    seconds = seconds_of(processor, {n: u for n, u in units.items() if u is not None}, held, timer)
    return Trial(
        sum(table.num_rows for table in held.values()),
        len(unit.roots),
        seconds["alone"],
        seconds["together"],
        seconds.get("without"),
    )


def share_of_one(
    processor: Processor, unit: Unit, held: Held, timer: Timer = time.perf_counter
) -> float:
    """Return the time that a member takes alone as a share of its bundle's, the mean of some."""
    members = unit.bundle.members if unit.bundle is not None else ()
    tried = {f"member {n}": alone(unit, each) for n, each in enumerate(spread(members, SAMPLES))}
    seconds = seconds_of(processor, {"together": unit, **tried}, held, timer)
    together = seconds.pop("together")
    return sum(seconds.values()) / len(seconds) / together


def spread(members: Sequence[T], most: int) -> list[T]:
    """Return some of the members, the first and the last among them, as even as can be."""
    count, last = min(most, len(members)), len(members) - 1
    return [members[round(n * last / max(1, count - 1))] for n in range(count)]


def seconds_of(
    processor: Processor, units: Mapping[str, Unit], held: Held, timer: Timer = time.perf_counter
) -> dict[str, float]:
    """Return the seconds that each unit takes over the rows."""
    rows = {name: [in_memory(table)] for name, table in held.items()}
    works = {name: partial(run_to_the_end, processor, unit, rows) for name, unit in units.items()}
    return fastest(works, timer)


def fastest(works: Mapping[str, Callable[[], object]], timer: Timer) -> dict[str, float]:
    """Return each one's shortest time, all of them done in turns."""
    found: dict[str, float] = {}
    for _ in range(TIMES):
        for name, work in works.items():
            began = timer()
            work()
            took = timer() - began
            found[name] = min(took, found.get(name, took))
    return found


def alone(unit: Unit, member: Asking) -> Unit:
    """Return the unit that a member of a bundle would be by itself."""
    match member:
        case Member(aggregate=aggregate):
            return Unit(member.root, unit.leaves, aggregate)
        case EventMember(detect=detect):
            return Unit(detect, unit.leaves, detect)
        case JoinMember(join=join):
            return Unit(member.root, unit.leaves, join)
        case _:
            return Unit(member.root, unit.leaves)


def without(unit: Unit, member: Asking) -> Unit | None:
    """Return the bundle's unit as if one had never joined, or None where no member is left."""
    match unit.bundle:
        case Bundle(members=members) as windows if len(members) > 1:
            rest = tuple(each for each in members if each.key != member.key)
            bundle: AnyBundle = replace(windows, members=rest)
        case FlowBundle(members=flows) as flow if len(flows) > 1:
            bundle = replace(flow, members=tuple(e for e in flows if e.key != member.key))
        case JoinBundle(members=joins) as joined if len(joins) > 1:
            bundle = replace(joined, members=tuple(e for e in joins if e.key != member.key))
        case EventBundle(members=events) as detection if len(events) > 1:
            bundle = replace(detection, members=tuple(e for e in events if e.key != member.key))
        case _:
            return None
    return Unit(bundle, unit.leaves, bundle)


def run_to_the_end(processor: Processor, unit: Unit, rows: Mapping[str, list[Rows]]) -> None:
    """Run a unit once over these rows, and close all of its windows."""
    if unit.stateful is None:
        processor.flow(unit, rows)
        return
    inputs = len(unit.stateful.inputs)
    run = Run(processor, unit, rows, (END_OF_TIME,) * inputs, (BEGIN_OF_TIME,) * inputs)
    if (bundle := unit.bundle) is None:
        new_state(unit.stateful, BEGIN_OF_TIME).step(run)
        return
    state = new_together(bundle)
    state.rearranged(bundle, BEGIN_OF_TIME)
    state.steps(run)


def _latest(buffer: Buffer, most: int) -> pa.Table:
    tables: list[pa.Table] = []
    for train in reversed(buffer.held()):
        if most <= 0:
            break
        table = train.rows.to_table(buffer.schema)
        tables.insert(0, table.slice(max(0, table.num_rows - most)))
        most -= table.num_rows
    return pa.concat_tables([empty_table(buffer.schema), *tables])
