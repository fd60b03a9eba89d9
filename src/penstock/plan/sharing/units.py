"""Units: connected sets of operators that run as one Spark job over a train.

A unit ends where its output is needed as trains: at a query's root, at a node that several
read, around a Take or a Gate (which count and drop, and need no Spark), at an Ordered (which sorts
without it, for whoever needs the order), and below a stateful operator that reads another one
(whose rows come by their own clock). So a unit has at most one stateful operator.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.model.trains import END_OF_TIME, shifted
from penstock.plan.operators import (
    AnyBundle,
    Bundle,
    Gate,
    JoinBundle,
    Operator,
    Ordered,
    Scan,
    Take,
    Top,
    Union,
    WindowAggregate,
    is_stateful,
    key,
    walk,
)
from penstock.plan.operators.bundles.member import between, lot_of
from penstock.plan.operators.graph import Graph


@dataclass(frozen=True, slots=True)
class Unit:
    """The operators from `root` down to `leaves`, which are nodes whose trains it reads."""

    root: Operator
    leaves: tuple[Operator, ...]
    stateful: Operator | None = None

    @property
    def key(self) -> str:
        """Return the unit's name: its root's."""
        return key(self.root)

    @property
    def bundle(self) -> AnyBundle | None:
        """Return the operator that answers several queries together, where it is one."""
        return self.stateful if isinstance(self.stateful, AnyBundle) else None

    @property
    def roots(self) -> tuple[Operator, ...]:
        """Return the operators whose rows it gives."""
        if (bundle := self.bundle) is not None:
            return tuple(member.root for member in bundle.members)
        return (self.root,)

    @property
    def lots(self) -> dict[str, int]:
        """Return who is in a bundle, by its root, and in which lot of its section."""
        return {m.key: lot_of(m) for m in self.bundle.members} if self.bundle is not None else {}

    @property
    def owners(self) -> set[str]:
        """Return the nodes whose state and place in the inputs it has."""
        found = {self.key, *([key(self.stateful)] if self.stateful is not None else [])}
        found |= {key(root) for root in self.roots}
        if isinstance(self.stateful, Bundle):
            found |= {key(member.aggregate) for member in self.stateful.members}
        if isinstance(self.stateful, JoinBundle):
            found |= {key(member.join) for member in self.stateful.members}
        return found

    @property
    def aggregate(self) -> WindowAggregate | None:
        """Return the stateful operator where it is an aggregate over panes."""
        return self.stateful if isinstance(self.stateful, WindowAggregate) else None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the keys of the buffers that it reads."""
        return tuple(key(leaf) for leaf in self.leaves)

    @property
    def is_ordered(self) -> bool:
        """Say whether the rows of a run come in an order that was asked for."""
        return any(isinstance(node, Top) for node in self.members())

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
        """Return the SELECT of the operators below the stateful one, or of all without one."""
        return self.input_sql(0, views) if self.stateful else select_sql(self.root, views)

    def input_sql(self, place: int, views: Mapping[str, str]) -> str:
        """Return the SELECT of one input of the stateful operator, over the leaves."""
        return select_sql(self._stateful().inputs[place], views)

    def above_sql(self, relation: str) -> str:
        """Return the SELECT of the operators above the stateful one, over its output."""
        return select_sql(self.root, {key(self._stateful()): relation})

    def pane_sql(self, views: Mapping[str, str]) -> str:
        """Return the SELECT from the leaves' tuples to partials."""
        aggregate = self._aggregate()
        return aggregate.pane_sql(_relation(aggregate.input, views))

    def close_sql(
        self,
        parts: str,
        numbers: tuple[int, int],
        *,
        emitted: str = "final",
        touched: str | None = None,
    ) -> str:
        """Return the SELECT from partials to result rows, for windows of a range of numbers."""
        aggregate = self._aggregate()
        closed = aggregate.close_sql(parts, numbers, emitted=emitted, touched=touched)
        return self.above_sql(f"({closed})")

    def watermark(self, leaves: Mapping[str, int], idle: Container[str] = ()) -> int:
        """Return the watermark of the root of a unit without state.

        Leaves that are `idle` have no say while another is not, and time stands at the furthest of
        them while all are. The watermark may then be behind an earlier one: whoever has promised
        that keeps to it.
        """
        return _mark(self.root, leaves, idle)[0]

    def marks(self, leaves: Mapping[str, int], idle: Container[str] = ()) -> tuple[int, ...]:
        """Return the watermarks of the stateful operator's inputs, as `watermark` does.

        An input that is idle goes along with those that are not.
        """
        below = [_mark(each, leaves, idle) for each in self._stateful().inputs]
        together, _ = _together(below)
        return tuple(max(mark, together) if rests else mark for mark, rests in below)

    def is_idle(self, leaves: Mapping[str, int], idle: Collection[str]) -> bool:
        """Say whether every leaf that has not ended is idle."""
        return bool(idle) and all(n in idle or leaves[n] == END_OF_TIME for n in self.inputs)

    def _stateful(self) -> Operator:
        if self.stateful is None:
            raise TypeError(f"unit {self.key} keeps no state")
        return self.stateful

    def _aggregate(self) -> WindowAggregate:
        if self.aggregate is None:
            raise TypeError(f"unit {self.key} has no aggregate")
        return self.aggregate


Cut = Callable[[Graph, Iterable[str]], tuple[Unit, ...]]


def cut_at_shared(graph: Graph, cut_roots: Iterable[str] = ()) -> tuple[Unit, ...]:
    """Return the units of a graph; nodes in `cut_roots` keep the buffers that they have."""
    nodes, readers = graph.nodes(), graph.readers()
    ends = {key(root) for root in graph.queries.values()} | (set(cut_roots) & nodes.keys())
    ends |= {name for name, read_by in readers.items() if len(read_by) > 1} | graph.given
    ends |= {name for name, node in nodes.items() if isinstance(node, Scan | Take | Gate | Ordered)}
    ends |= {key(node.input) for node in nodes.values() if isinstance(node, Take | Gate)}
    for node in nodes.values():  # inputs first, so that a cut below is seen above
        if is_stateful(node) or isinstance(node, Union) or key(node) in graph.alone:
            ends |= {key(each) for each in graph.inputs_of(node) if _stateful_in(each, ends)}
    return tuple(
        _unit(nodes[name], ends - _between(graph, nodes[name]))
        for name in nodes
        if name in ends - graph.given and not isinstance(nodes[name], Scan)
    )


def _between(graph: Graph, root: Operator) -> set[str]:
    """Return the nodes that a root computes by itself, though others may share them."""
    bases = graph.alone.get(key(root))
    return between(root, bases) if bases is not None else set()


def _stateful_in(node: Operator, ends: set[str]) -> list[Operator]:
    """Return the stateful operators that a unit with this root would hold."""
    return [each for each in _unit_members(node, ends) if is_stateful(each)]


def _unit(root: Operator, ends: set[str]) -> Unit:
    leaves: dict[str, Operator] = {}
    ends = ends - _seen_through(_stateful_in(root, ends))
    for member in _unit_members(root, ends):
        leaves |= {key(each): each for each in member.inputs if key(each) in ends}
    stateful = _stateful_in(root, ends)
    return Unit(root, tuple(leaves.values()), stateful[0] if stateful else None)


def _seen_through(stateful: Iterable[Operator]) -> set[str]:
    """Return the nodes through which an operator that reads history looks at the streams.

    Only a stream has history, so what others share between them is computed once more for it.
    """
    below = [
        node
        for each in stateful
        if getattr(each, "reads_history", False)
        for node in walk(each)
        if node is not each and not isinstance(node, Scan)
    ]
    return {key(node) for node in below if not any(map(_counts, walk(node)))}


def _counts(node: Operator) -> bool:
    return isinstance(node, Take) or is_stateful(node)


def _unit_members(root: Operator, ends: set[str]) -> list[Operator]:
    found = {key(root): root}
    waiting = list(root.inputs)
    while waiting:
        node = waiting.pop()
        if key(node) not in ends and key(node) not in found:
            found[key(node)] = node
            waiting += node.inputs
    return [node for node in walk(root) if key(node) in found]


def select_sql(operator: Operator, views: Mapping[str, str]) -> str:
    """Return the SELECT of an operator over views of some of the nodes below it, by their keys."""
    if view := views.get(key(operator)):
        return f"SELECT * FROM {view}"
    return operator.sql([_relation(each, views) for each in operator.inputs])


def _relation(operator: Operator, views: Mapping[str, str]) -> str:
    return views.get(key(operator)) or f"({select_sql(operator, views)})"


Mark = tuple[int, bool]  # a watermark, and whether all that it comes from is idle


def _mark(operator: Operator, leaves: Mapping[str, int], idle: Container[str]) -> Mark:
    if (known := leaves.get(key(operator))) is not None:
        return known, key(operator) in idle
    below = [_mark(each, leaves, idle) for each in operator.inputs]
    if isinstance(operator, Union) and operator.times:
        place = operator.schema.names.index(operator.times[0].column)
        below = [
            (shifted(mark, _offset_at(each, place)), rests)
            for (mark, rests), each in zip(below, operator.inputs, strict=True)
        ]
    return _together(below)


def _together(marks: Sequence[Mark]) -> Mark:
    """Return the least watermark of those that are not idle; where all are, the furthest.

    So it makes no difference in which order they fell idle. What has ended goes on no more: an
    idle input beside it may still wake up.
    """
    least = min((mark for mark, rests in marks if not rests), default=END_OF_TIME)
    resting = [mark for mark, rests in marks if rests]
    return (max(resting), True) if least == END_OF_TIME and resting else (least, False)


def _offset_at(operator: Operator, place: int) -> int:
    names = operator.schema.names
    return next(t.offset for t in operator.times if names.index(t.column) == place)
