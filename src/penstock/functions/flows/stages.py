"""Stages: which parts of a flow run side by side, and what has to cross between them.

A task is a run of nodes that one process can do without waiting for another. Sites that follow one
another are one task, since nothing is gained by handing items over. A partition function runs where
its share is used, on every branch for itself, so that a train is read by all branches and sent to
none. Where streams come together, or branches begin, another task begins.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.functions.data.items import StreamType
from penstock.functions.flows.flow import Dataflow, FlowInput, FlowNode, Source
from penstock.functions.flows.program import Program, program
from penstock.functions.operators.function import Role


@dataclass(frozen=True)
class Task:
    """A program, and which sites it stands for; `counts` are the nodes that it tells figures of."""

    program: Program
    sites: tuple[int, ...]
    counts: frozenset[int]

    @property
    def needs(self) -> tuple[Source, ...]:
        """Return where its items come from."""
        return self.program.ways_in


@dataclass(frozen=True)
class Stages:
    """The tasks of a flow, those of one stage side by side, each stage behind what it needs."""

    flow: Dataflow
    given: StreamType
    stages: tuple[tuple[Task, ...], ...]
    output: int

    @property
    def result(self) -> StreamType:
        """Return the type of what comes out."""
        for task in self.tasks:
            if self.output in task.program.numbers:
                place = task.program.numbers.index(self.output)
                return task.program.operators[place].type
        raise KeyError(self.output)

    @property
    def degree(self) -> int:
        """Return how many tasks stand side by side at most."""
        return max(len(tasks) for tasks in self.stages)

    def lines(self) -> Iterator[str]:
        """Yield a line for each task: its stage, its sites, and what it does one after another."""
        for number, tasks in enumerate(self.stages, start=1):
            for task in tasks:
                sites = ", ".join(map(str, task.sites))
                calls = " > ".join(_called(node) for node in task.program.nodes)
                yield f"stage {number}:     site {sites}: {calls}"

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Return all tasks, in order."""
        return tuple(task for tasks in self.stages for task in tasks)


def stages_of(flow: Dataflow, given: StreamType, output: int = 0) -> Stages:
    """Return the tasks that give one output of a flow; nodes that only others need are left out."""
    types = (given,)
    needed = _needed(flow, flow.outputs[output])
    owner: dict[int, int] = {}
    members: list[set[int]] = []
    levels: list[int] = []
    for number in sorted(needed):
        if _splits(flow, number):
            continue
        below = _below(flow, number, owner)
        joins = None if below.branches or len(below.tasks) != 1 else next(iter(below.tasks))
        if joins is None:
            joins = len(members)
            members.append(set())
            levels.append(1 + max((levels[task] for task in below.tasks), default=-1))
        owner[number] = joins
        members[joins] |= {number, *below.splits}
    told: set[int] = set()
    made: list[list[Task]] = [[] for _ in range(max(levels) + 1)]
    for task, numbers in enumerate(members):
        made[levels[task]].append(_task(flow, types, (members, task), output, told))
        told |= numbers
    return Stages(flow, given, tuple(map(tuple, made)), flow.outputs[output])


def _called(node: FlowNode) -> str:
    share = "" if node.share is None else f" {node.share.branch} of {node.share.degree}"
    return f"{node.call}{share}"


@dataclass(frozen=True, slots=True)
class _Below:
    """What stands below a node: tasks that it reads, partition nodes between, other branches."""

    tasks: frozenset[int]
    splits: frozenset[int]
    branches: bool


def _below(flow: Dataflow, number: int, owner: dict[int, int]) -> _Below:
    tasks: set[int] = set()
    splits: set[int] = set()
    waiting = list(flow.nodes[number].inputs)
    while waiting:
        source = waiting.pop()
        if isinstance(source, FlowInput):
            continue
        if _splits(flow, source):
            splits.add(source)
            waiting += flow.nodes[source].inputs
        else:
            tasks.add(owner[source])
    degrees = [share.degree for each in splits if (share := flow.nodes[each].share) is not None]
    return _Below(frozenset(tasks), frozenset(splits), max(degrees, default=1) > 1)


def _splits(flow: Dataflow, number: int) -> bool:
    """Say whether a node gives a branch its share, and somebody in the flow uses that."""
    node = flow.nodes[number]
    return node.call.role is Role.PARTITION and number not in flow.outputs


def _needed(flow: Dataflow, output: int) -> set[int]:
    found: set[int] = set()
    waiting: list[Source] = [output]
    while waiting:
        number = waiting.pop()
        if isinstance(number, int) and number not in found:
            found.add(number)
            waiting += flow.nodes[number].inputs
    return found


def _task(
    flow: Dataflow,
    types: tuple[StreamType, ...],
    which: tuple[list[set[int]], int],
    output: int,
    told: set[int],
) -> Task:
    members, task = which
    inside = members[task]
    others = [each for at, each in enumerate(members) if at != task]
    read = {source for each in others for source in _read_from_outside(flow, each)}
    ways_out = tuple(sorted(inside & (read | {flow.outputs[output]})))
    made = replace(program(flow, types, inside), ways_out=ways_out)
    sites = dict.fromkeys(flow.nodes[number].site for number in sorted(inside))
    return Task(made, tuple(sites), frozenset(inside - told))


def _read_from_outside(flow: Dataflow, inside: set[int]) -> Iterator[int]:
    for number in inside:
        for source in flow.nodes[number].inputs:
            if isinstance(source, int) and source not in inside:
                yield source
