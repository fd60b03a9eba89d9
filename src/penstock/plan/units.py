"""Units: connected sets of operators that run as one Spark job over a train.

A unit ends where its output is needed as trains: at a query's root, at a node that several
read, around a Take (which counts, and needs no Spark), and below a window aggregate that reads
another one (whose rows come by their own clock).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from penstock.plan.graph import Graph
from penstock.plan.operators import Operator, Scan, Take, Union, WindowAggregate, key, walk


@dataclass(frozen=True, slots=True)
class Unit:
    """The operators from `root` down to `leaves`, which are nodes whose trains it reads."""

    root: Operator
    leaves: tuple[Operator, ...]
    aggregate: WindowAggregate | None = None

    @property
    def key(self) -> str:
        """Return the unit's name: its root's."""
        return key(self.root)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the keys of the buffers that it reads."""
        return tuple(key(leaf) for leaf in self.leaves)

    def members(self) -> list[Operator]:
        """Return the operators inside, inputs first."""
        stops = set(self.inputs)
        found: list[Operator] = []

        def visit(node: Operator) -> None:
            if key(node) not in stops and node not in found:
                for each in node.inputs:
                    visit(each)
                found.append(node)

        visit(self.root)
        return found

    def rows_sql(self, views: Mapping[str, str]) -> str:
        """Return the SELECT of the operators below the aggregate, or of all without one."""
        top = self.aggregate.input if self.aggregate else self.root
        return _select(top, views)

    def pane_sql(self, views: Mapping[str, str]) -> str:
        """Return the SELECT from the leaves' tuples to partials."""
        aggregate = self._aggregate()
        return aggregate.pane_sql(_relation(aggregate.input, views))

    def close_sql(self, parts: str, starts: tuple[int, int]) -> str:
        """Return the SELECT from partials to result rows, for windows that start in a range."""
        aggregate = self._aggregate()
        closed = f"({aggregate.close_sql(parts, starts)})"
        return _select(self.root, {key(aggregate): closed})

    def watermark(self, leaves: Mapping[str, int]) -> int:
        """Return the watermark of the aggregate's input, or of the root without one."""
        top = self.aggregate.input if self.aggregate else self.root
        mark = _watermark(top, leaves)
        return _shift(mark, self.aggregate.time.offset) if self.aggregate else mark

    def _aggregate(self) -> WindowAggregate:
        if self.aggregate is None:
            raise TypeError(f"unit {self.key} has no aggregate")
        return self.aggregate


Cut = Callable[[Graph, Iterable[str]], tuple[Unit, ...]]


def cut_at_shared(graph: Graph, standing: Iterable[str] = ()) -> tuple[Unit, ...]:
    """Return the units of a graph; nodes in `standing` keep the buffers that they have."""
    nodes, readers = graph.nodes(), graph.readers()
    ends = {key(root) for root in graph.queries.values()} | (set(standing) & nodes.keys())
    ends |= {name for name, read_by in readers.items() if len(read_by) > 1}
    ends |= {name for name, node in nodes.items() if isinstance(node, Scan | Take)}
    ends |= {key(node.input) for node in nodes.values() if isinstance(node, Take)}
    for node in nodes.values():  # inputs first, so that a cut below is seen above
        if isinstance(node, WindowAggregate | Union):
            ends |= {key(each) for each in node.inputs if _aggregates(each, ends)}
    return tuple(
        _unit(nodes[name], ends)
        for name in nodes
        if name in ends and not isinstance(nodes[name], Scan)
    )


def _aggregates(node: Operator, ends: set[str]) -> list[WindowAggregate]:
    """Return the window aggregates that a unit with this root would hold."""
    return [each for each in _unit_members(node, ends) if isinstance(each, WindowAggregate)]


def _unit(root: Operator, ends: set[str]) -> Unit:
    leaves: dict[str, Operator] = {}
    for member in _unit_members(root, ends):
        leaves |= {key(each): each for each in member.inputs if key(each) in ends}
    aggregates = _aggregates(root, ends)
    return Unit(root, tuple(leaves.values()), aggregates[0] if aggregates else None)


def _unit_members(root: Operator, ends: set[str]) -> list[Operator]:
    found = {key(root): root}
    waiting = list(root.inputs)
    while waiting:
        node = waiting.pop()
        if key(node) not in ends and key(node) not in found:
            found[key(node)] = node
            waiting += node.inputs
    return [node for node in walk(root) if key(node) in found]


def _select(operator: Operator, views: Mapping[str, str]) -> str:
    if view := views.get(key(operator)):
        return f"SELECT * FROM {view}"
    return operator.sql([_relation(each, views) for each in operator.inputs])


def _relation(operator: Operator, views: Mapping[str, str]) -> str:
    return views.get(key(operator)) or f"({_select(operator, views)})"


def _watermark(operator: Operator, leaves: Mapping[str, int]) -> int:
    if (known := leaves.get(key(operator))) is not None:
        return known
    below = [_watermark(each, leaves) for each in operator.inputs]
    if isinstance(operator, Union) and operator.times:
        place = operator.schema.names.index(operator.times[0].column)
        below = [
            _shift(mark, _offset_at(each, place))
            for mark, each in zip(below, operator.inputs, strict=True)
        ]
    return min(below)


def _offset_at(operator: Operator, place: int) -> int:
    names = operator.schema.names
    return next(t.offset for t in operator.times if names.index(t.column) == place)


def _shift(mark: int, offset: int) -> int:
    """Move a watermark, leaving the two ends of time where they are."""
    return mark if abs(mark) >= 2**62 else mark + offset
