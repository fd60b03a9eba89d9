"""Flows: graphs of functions over streams, with the site that each stands on (GSDM-22)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.errors import BadFlowError
from penstock.functions.operators.function import Call


@dataclass(frozen=True, slots=True)
class FlowInput:
    """An input stream of a flow, by its number."""

    number: int


Source = FlowInput | int


@dataclass(frozen=True, slots=True)
class BranchShare:
    """Which branch of how many a partition function gives its share."""

    branch: int
    degree: int


@dataclass(frozen=True, slots=True)
class FlowNode:
    """A function at its place: what it reads (input streams or other nodes), and its site."""

    call: Call
    inputs: tuple[Source, ...]
    site: int
    share: BranchShare | None = None

    @property
    def phase(self) -> str:
        """Return what the node is there for: partition, compute or combine."""
        if self.share is not None:
            return "partition"
        return "combine" if len(self.inputs) > 1 else "compute"


@dataclass(frozen=True)
class Dataflow:
    """Nodes, each after those that it reads; output i is what node `outputs[i]` gives.

    A node may stand at several outputs: then it is replicated. All outputs are connected, and each
    can have its own destination (the printed compiler connects the first alone).
    """

    nodes: tuple[FlowNode, ...]
    arity: int
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse a graph that hangs in the air or bites its tail."""
        for number, node in enumerate(self.nodes):
            for source in node.inputs:
                inside = isinstance(source, int) and 0 <= source < number
                outside = isinstance(source, FlowInput) and 0 <= source.number < self.arity
                if not (inside or outside):
                    raise BadFlowError(
                        f"{node.call} reads {source}, which is not before it",
                        hint="nodes come after what they read",
                    )
        if not self.outputs or any(not 0 <= each < len(self.nodes) for each in self.outputs):
            raise BadFlowError(
                f"outputs {self.outputs} are not nodes of the flow",
                hint="a flow has at least one output",
            )

    @property
    def width(self) -> int:
        """Return how many output streams there are."""
        return len(self.outputs)

    @cached_property
    def sites(self) -> tuple[int, ...]:
        """Return the sites, in the order of their first nodes."""
        return tuple(dict.fromkeys(node.site for node in self.nodes))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Return each node's level: 0 at the inputs, else one more than the highest it reads."""
        levels: list[int] = []
        for node in self.nodes:
            below = [levels[each] for each in node.inputs if isinstance(each, int)]
            levels.append(1 + max(below) if below else 0)
        return tuple(levels)

    def origins(self) -> tuple[frozenset[int], ...]:
        """Return, for each node, the input streams that its items come from."""
        found: list[frozenset[int]] = []
        for node in self.nodes:
            parts = [
                frozenset({each.number}) if isinstance(each, FlowInput) else found[each]
                for each in node.inputs
            ]
            found.append(frozenset().union(*parts))
        return tuple(found)

    def with_calls(self, change: Callable[[Call], Call]) -> "Dataflow":
        """Return the same graph with other calls at its nodes."""
        nodes = tuple(replace(node, call=change(node.call)) for node in self.nodes)
        return Dataflow(nodes, self.arity, self.outputs)

    def on_site(self, site: int) -> "Dataflow":
        """Return the same graph with all nodes on one site."""
        nodes = tuple(replace(node, site=site) for node in self.nodes)
        return Dataflow(nodes, self.arity, self.outputs)


def beside(flows: Sequence[Dataflow]) -> Dataflow:
    """Return flows side by side: copies, with the inputs and outputs of all, in order."""
    nodes: list[FlowNode] = []
    outputs: list[int] = []
    arity = 0
    for flow in flows:
        nodes, outputs, arity = (
            [*nodes, *_moved(flow, len(nodes), _next_site(nodes), arity)],
            [*outputs, *(each + len(nodes) for each in flow.outputs)],
            arity + flow.arity,
        )
    return Dataflow(tuple(nodes), arity, tuple(outputs))


def sharing(flow: Dataflow) -> Dataflow:
    """Return a flow all of whose inputs are one and the same stream."""
    nodes = tuple(
        replace(
            node,
            inputs=tuple(
                FlowInput(0) if isinstance(each, FlowInput) else each for each in node.inputs
            ),
        )
        for node in flow.nodes
    )
    return Dataflow(nodes, 1, flow.outputs)


def connected(first: Dataflow, second: Dataflow) -> Dataflow:
    """Return both, copied, the outputs of the first being the inputs of the second (GSDM-26).

    Every input of every node is connected, also where it stands beside another node.
    """
    offset = len(first.nodes)
    moved = _moved(second, offset, _next_site(first.nodes), 0)
    nodes = tuple(
        replace(
            node,
            inputs=tuple(
                first.outputs[each.number] if isinstance(each, FlowInput) else each
                for each in node.inputs
            ),
        )
        for node in moved
    )
    outputs = tuple(each + offset for each in second.outputs)
    return Dataflow((*first.nodes, *nodes), first.arity, outputs)


def _next_site(nodes: Sequence[FlowNode]) -> int:
    return 1 + max((node.site for node in nodes), default=-1)


def _moved(flow: Dataflow, by: int, site: int, first_input: int) -> tuple[FlowNode, ...]:
    """Return the nodes of a flow under other numbers, on sites of their own."""
    names = {old: site + number for number, old in enumerate(flow.sites)}
    return tuple(
        replace(
            node,
            inputs=tuple(
                FlowInput(each.number + first_input) if isinstance(each, FlowInput) else each + by
                for each in node.inputs
            ),
            site=names[node.site],
        )
        for node in flow.nodes
    )
