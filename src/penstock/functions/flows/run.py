"""A whole flow in one process: what every other way to run it is measured against.

Items come in trains of any cut. Within a train they are put in order; what is older than an earlier
train's newest is late. Each item gets its number here.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.operator_state import OperatorState, from_bytes, to_bytes
from penstock.functions.flows.figures import NodeFigures
from penstock.functions.flows.flow import Dataflow, FlowInput, Source
from penstock.functions.flows.program import Clock, Program, program, run_program
from penstock.functions.operators.operator import BEGIN, END, InputItems, Withheld

ENTRY = "entry"


@dataclass(frozen=True, slots=True)
class Delivered:
    """What a step of a flow gave: the items of each output, what was withheld, and figures.

    `wake` is when the flow wants to be asked again, if nothing comes before: a time-out ends then.
    """

    outputs: tuple[Items, ...]
    withheld: tuple[Withheld, ...] = ()
    figures: tuple[NodeFigures, ...] = ()
    wake: float | None = None


@dataclass(frozen=True)
class Runner:
    """A flow over streams of some types. Pure: states go in and come out."""

    flow: Dataflow
    types: tuple[StreamType, ...]
    program: Program = field(init=False)

    def __post_init__(self) -> None:
        """Infer the types, or refuse what does not fit."""
        nodes = range(len(self.flow.nodes))
        object.__setattr__(self, "program", program(self.flow, self.types, nodes))

    @property
    def result_types(self) -> tuple[StreamType, ...]:
        """Return the type of each output."""
        return tuple(self.program.operators[each].type for each in self.flow.outputs)

    def fresh(self) -> dict[str, OperatorState]:
        """Return the state before anything came."""
        return {ENTRY: fresh_entry(self.flow.arity), **self.program.fresh()}

    def step(
        self,
        states: Mapping[str, OperatorState],
        trains: Mapping[int, pa.Table],
        *,
        now: float = 0.0,
        ended: bool | Collection[int] = False,
        clock: Clock = time.perf_counter,
    ) -> tuple[Delivered, dict[str, OperatorState]]:
        """Run the flow over a train of some inputs; `ended` are those that no more comes from."""
        over = frozenset(range(self.flow.arity) if ended is True else ended or ())
        entry, arrivals, late = entered(states[ENTRY], self.types, trains, over)
        ran = run_program(self.program, states, arrivals, now, clock)
        outputs = tuple(ran.out[each].items for each in self.flow.outputs)
        delivered = Delivered(
            outputs, once(self.flow, (*late, *ran.withheld)), ran.figures, ran.wake
        )
        return delivered, {ENTRY: entry, **ran.states}

    def kept(self, states: Mapping[str, OperatorState]) -> bytes:
        """Return the state for a checkpoint."""
        return to_bytes(states)

    def restored(self, data: bytes) -> dict[str, OperatorState]:
        """Return the state of a checkpoint."""
        return from_bytes(data)


def once(flow: Dataflow, withheld: Iterable[Withheld]) -> tuple[Withheld, ...]:
    """Return what was withheld; what the branches of one split all failed on, only once."""
    seen: dict[tuple[object, ...], set[int]] = {}
    kept = []
    for each in withheld:
        node = flow.nodes[each.node] if each.node >= 0 else None
        if node is not None and node.share is not None:
            known = seen.setdefault((node.call.function, node.inputs, each.cause), set())
            numbers = each.items.numbers.tolist()
            fresh = np.array([number not in known for number in numbers], dtype=bool)
            known.update(numbers)
            each = replace(each, items=each.items.take(fresh))  # noqa: PLW2901
        if len(each.items):
            kept.append(each)
    return tuple(kept)


def fresh_entry(arity: int) -> OperatorState:
    """Return what is known of the inputs before anything came: counts and newest times."""
    return OperatorState({"seen": [0] * arity, "newest": [BEGIN] * arity})


def entered(
    state: OperatorState,
    types: Sequence[StreamType],
    trains: Mapping[int, pa.Table],
    ended: frozenset[int] = frozenset(),
) -> tuple[OperatorState, dict[Source, InputItems], tuple[Withheld, ...]]:
    """Return trains as arrivals, in order and numbered, without what is late or has no time."""
    seen, newest = list(state.facts["seen"]), list(state.facts["newest"])
    arrivals: dict[Source, InputItems] = {}
    withheld: list[Withheld] = []
    for number, kind in enumerate(types):
        items = Items.none(kind)
        if number in trains and trains[number].num_rows:
            items, aside = _sorted_out(Items.from_table(kind, trains[number]), newest[number])
            withheld += aside
            items = items.numbered(np.arange(len(items), dtype=np.int64) + seen[number])
            seen[number] += len(items)
        if len(items):
            newest[number] = max(newest[number], int(items.times[-1]))
        arrivals[FlowInput(number)] = InputItems(items, END if number in ended else newest[number])
    return OperatorState({"seen": seen, "newest": newest}), arrivals, tuple(withheld)


def _sorted_out(items: Items, newest: int) -> tuple[Items, list[Withheld]]:
    withheld: list[Withheld] = []
    if items.type.ordering is None:
        return items, withheld
    column = items.table[items.type[items.type.ordering].name]
    if column.null_count:
        missing = column.is_null().to_numpy()
        none = Withheld("held", ENTRY, f"{items.type.ordering} is NULL", items.take(missing))
        withheld.append(none)
        items = items.take(~missing)
    behind = items.times < newest
    if behind.any():
        cause = "older than what has come in before"
        withheld.append(Withheld("late", ENTRY, cause, items.take(behind)))
        items = items.take(~behind)
    if (np.diff(items.times) < 0).any():
        items = items.take(np.argsort(items.times, kind="stable"))
    return items, withheld
