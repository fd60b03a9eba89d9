"""What there is to draw: streams, the units that read them or each other, and queries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.model.own_names import readable
from penstock.plan.explain.explain import unit_lines
from penstock.plan.operators import key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A stream by its name, or an operator by what it does."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A unit: the nodes whose trains it reads and gives, and what it does in between.

    `queries` are those that get its rows, each by name with the node that it reads. `runs` writes
    its Spark SQL, of a bundle also what is one member's: only who asks pays for it.
    """

    key: str
    is_bundle: bool
    reads: tuple[str, ...]
    gives: tuple[str, ...]
    operators: tuple[DrawnNode, ...]
    queries: tuple[tuple[str, str], ...]
    runs: Callable[[], str]

    @property
    def title(self) -> str:
        """Return what it is, on one line."""
        if not self.is_bundle:
            return f"unit {self.key[:6]}"
        return f"bundle {self.key[:6]} of {len(self.queries):,} queries"

    @property
    def names(self) -> list[str]:
        """Return the names of its queries."""
        return [name for name, _ in self.queries]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Everything; `queries` are those that get a stream's tuples as they come."""

    streams: tuple[DrawnNode, ...]
    blocks: tuple[Block, ...]
    queries: tuple[tuple[str, str], ...]

    def readers(self, node: str) -> list[Block]:
        """Return the units that read a node's trains."""
        return [block for block in self.blocks if node in block.reads]

    def named(self, node: str) -> str:
        """Return a node as its users know it."""
        streams = {each.key: each.text for each in self.streams}
        queries = {each: name for block in self.blocks for name, each in reversed(block.queries)}
        return streams.get(node) or queries.get(node) or f"node {node[:6]}"


def draw(graph: Graph, units: Sequence[Unit]) -> Drawing:
    """Return the drawing of a graph that is cut into these units."""
    streams = {key(scan): DrawnNode(key(scan), scan.stream) for scan in graph.scans()}
    direct = [(name, key(root)) for name, root in sorted(graph.queries.items())]
    by_node: dict[str, list[tuple[str, str]]] = {}
    for name, node in direct:
        by_node.setdefault(node, []).append((name, node))
    blocks = tuple(_block(unit, by_node, graph) for unit in units)
    return Drawing(
        tuple(sorted(streams.values(), key=lambda each: (each.text, each.key))),
        blocks,
        tuple((name, node) for name, node in direct if node in streams),
    )


def _block(unit: Unit, by_node: dict[str, list[tuple[str, str]]], graph: Graph) -> Block:
    gives = tuple(key(root) for root in unit.roots)
    return Block(
        unit.key,
        unit.bundle is not None,
        unit.inputs,
        gives,
        tuple(DrawnNode(key(each), readable(each.text())) for each in unit.members()),
        tuple(sorted(query for node in gives for query in by_node.get(node, ()))),
        lambda: readable("\n".join(unit_lines(unit, graph, gives[0]))),
    )
