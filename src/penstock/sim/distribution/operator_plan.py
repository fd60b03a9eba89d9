"""The thesis' query plans: trees of window joins and single-stream operators (DCAPE, 4.3.1).

Their figures are lost; what is known is how many operators, joins and streams they have, how deep
and how broad they are. These have all of that. Plans are optimised before they are spread (thesis,
4.1), so single-stream operators stand below the joins.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Tree = tuple["Tree", "Tree", int] | int
"""A join of two trees and how many single-stream operators stand above it; or, above a stream."""

LEFT_DEEP: Tree = ((((((0, 0, 0), 0, 0), 0, 0), 0, 0)), 0, 0)
SIX_STREAMS: Tree = (((6, 2, 0), (2, 2, 0), 0), (2, 1, 0), 0)
EIGHT_STREAMS: Tree = (((11, 4, 0), (3, 3, 0), 0), ((3, 3, 0), (3, 3, 0), 0), 0)


@dataclass(frozen=True, slots=True)
class PlanOperator:
    """One operator; with two inputs it is a window join."""

    name: str
    inputs: tuple[str, ...]

    @property
    def is_join(self) -> bool:
        """Say whether it joins."""
        return len(self.inputs) > 1


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """Operators, inputs first, over streams; whatever nobody reads is a result."""

    operators: tuple[PlanOperator, ...]
    streams: tuple[str, ...]

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the operators whose output is a result."""
        read = {each for operator in self.operators for each in operator.inputs}
        return tuple(each.name for each in self.operators if each.name not in read)

    @property
    def depth(self) -> int:
        """Return how many operators the longest way from a stream to a result has."""
        deep = dict.fromkeys(self.streams, 0)
        for each in self.operators:
            deep[each.name] = 1 + max(deep[name] for name in each.inputs)
        return max(deep.values())

    def rates(self, stream_rate: float, join_selectivity: float) -> dict[str, float]:
        """Return the tuples a second of every stream and output, if all keep up."""
        found = dict.fromkeys(self.streams, stream_rate)
        for each in self.operators:
            factor = join_selectivity if each.is_join else 1.0
            found[each.name] = factor * sum(found[name] for name in each.inputs)
        return found


def plan_of(*trees: Tree) -> OperatorPlan:
    """Return the plan of some trees."""
    operators: list[PlanOperator] = []
    streams: list[str] = []

    def add(prefix: str, inputs: tuple[str, ...]) -> str:
        name = f"{prefix}{len(operators):02}"
        operators.append(PlanOperator(name, inputs))
        return name

    def build(tree: Tree) -> str:
        if isinstance(tree, int):
            top, singles = f"s{len(streams):02}", tree
            streams.append(top)
        else:
            left, right, singles = tree
            top = add("join", (build(left), build(right)))
        for _ in range(singles):
            top = add("op", (top,))
        return top

    for tree in trees:
        build(tree)
    return OperatorPlan(tuple(operators), tuple(streams))


PLANS: Mapping[str, OperatorPlan] = {
    "plan 1": plan_of(5),
    "plan 1, joins": plan_of(LEFT_DEEP),
    "plan 2": plan_of(SIX_STREAMS),
    "plan 3": plan_of(EIGHT_STREAMS),
    "plan 4": plan_of(EIGHT_STREAMS, EIGHT_STREAMS),
}
