"""Programs: the part of a flow that one process runs, as a value that can be sent there.

A program has ways in and ways out. A way is named by where its items come from: an input stream of
the flow, or a node.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.operator_state import OperatorState
from penstock.functions.flows.figures import NodeFigures
from penstock.functions.flows.flow import Dataflow, FlowInput, FlowNode, Source
from penstock.functions.flows.inference import operators
from penstock.functions.operators.operator import FlowOperator, InputItems, OperatorStep, Withheld

Clock = Callable[[], float]


@dataclass(frozen=True)
class Program:
    """Some nodes of a flow, each after those that it reads, with their operators."""

    numbers: tuple[int, ...]
    nodes: tuple[FlowNode, ...]
    operators: tuple[FlowOperator, ...]
    ways_out: tuple[int, ...]
    types_in: tuple[tuple[Source, StreamType], ...]

    @cached_property
    def ways_in(self) -> tuple[Source, ...]:
        """Return where the program's items come from."""
        return tuple(source for source, _ in self.types_in)

    def fresh(self) -> dict[str, OperatorState]:
        """Return the states of all nodes before anything came."""
        pairs = zip(self.numbers, self.operators, strict=True)
        return {str(number): operator.fresh() for number, operator in pairs}


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """What a step of a program gave: ways out, states, what was withheld, figures by node."""

    out: Mapping[int, InputItems]
    states: Mapping[str, OperatorState]
    withheld: tuple[Withheld, ...] = ()
    figures: tuple[NodeFigures, ...] = ()
    wake: float | None = None


def program(flow: Dataflow, types: Sequence[StreamType], numbers: Iterable[int]) -> Program:
    """Return the program of some nodes of a flow over streams of these types."""
    made = operators(flow, types)
    inside = tuple(sorted(numbers))
    ways: dict[Source, StreamType] = {}
    for number in inside:
        for source in flow.nodes[number].inputs:
            if isinstance(source, FlowInput):
                ways[source] = types[source.number]
            elif source not in inside:
                ways[source] = made[source].type
    outside = {
        each for at, node in enumerate(flow.nodes) if at not in inside for each in node.inputs
    }
    return Program(
        inside,
        tuple(flow.nodes[each] for each in inside),
        tuple(made[each] for each in inside),
        tuple(each for each in inside if each in outside or each in flow.outputs),
        tuple(ways.items()),
    )


def run_program(
    what: Program,
    states: Mapping[str, OperatorState],
    arrivals: Mapping[Source, InputItems],
    now: float,
    clock: Clock,
) -> ProgramStep:
    """Run a program over what has arrived; a way in that is left out has nothing new."""
    passing: dict[Source, InputItems] = {
        source: arrivals.get(source, InputItems(Items.none(kind))) for source, kind in what.types_in
    }
    after: dict[str, OperatorState] = {}
    withheld: list[Withheld] = []
    figures: list[NodeFigures] = []
    wakes: list[float] = []
    for number, node, operator in zip(what.numbers, what.nodes, what.operators, strict=True):
        given = [passing[source] for source in node.inputs]
        began = clock()
        step = operator.step(states[str(number)], given, now)
        figures.append(_figures(number, node, given, step, clock() - began))
        passing[number] = InputItems(step.items, step.progress)
        after[str(number)] = step.state
        withheld += [replace(each, node=number) for each in step.withheld]
        if step.wake is not None:
            wakes.append(step.wake)
    out = {number: passing[number] for number in what.ways_out}
    return ProgramStep(out, after, tuple(withheld), tuple(figures), min(wakes, default=None))


def _figures(
    number: int, node: FlowNode, given: Sequence[InputItems], step: OperatorStep, seconds: float
) -> NodeFigures:
    return NodeFigures(
        number,
        node.call.function.name,
        node.site,
        node.phase,
        seconds=seconds,
        items_in=sum(len(each.items) for each in given),
        items_out=len(step.items),
        bytes_in=sum(each.items.bytes for each in given),
        bytes_out=step.items.bytes,
        withheld=sum(len(each.items) for each in step.withheld),
    )
