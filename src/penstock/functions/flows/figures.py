"""What nodes, sites and phases did: seconds, items and bytes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """What one node did in some steps."""

    node: int
    function: str
    site: int
    phase: str
    seconds: float = 0.0
    items_in: int = 0
    items_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    withheld: int = 0

    def plus(self, other: "NodeFigures") -> "NodeFigures":
        """Return both together, under the name of the first."""
        return replace(
            self,
            seconds=self.seconds + other.seconds,
            items_in=self.items_in + other.items_in,
            items_out=self.items_out + other.items_out,
            bytes_in=self.bytes_in + other.bytes_in,
            bytes_out=self.bytes_out + other.bytes_out,
            withheld=self.withheld + other.withheld,
        )


def by_node(figures: Iterable[NodeFigures]) -> tuple[NodeFigures, ...]:
    """Return one line for each node."""
    found: dict[int, NodeFigures] = {}
    for each in figures:
        found[each.node] = found[each.node].plus(each) if each.node in found else each
    return tuple(found[node] for node in sorted(found))
