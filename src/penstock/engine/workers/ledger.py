"""What the sites of a flow did: processing, crossing, waiting (GSDM's phases)."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.functions.flows.figures import NodeFigures
from penstock.functions.flows.stages import Task


@dataclass(slots=True)
class Ledger:
    """Sums since the flow began: by node, and by task the seconds of crossing and of its stages."""

    nodes: dict[int, NodeFigures] = field(default_factory=dict)
    crossing: dict[int, float] = field(default_factory=dict)
    elapsed: dict[int, float] = field(default_factory=dict)
    driver_crossing: float = 0.0
    runs: dict[str, int] = field(default_factory=lambda: {"driver": 0, "workers": 0})

    def add(
        self, task: Task, figures: Iterable[NodeFigures], crossing: float, elapsed: float
    ) -> None:
        """Count what a task did in a stage that took so long."""
        for each in figures:
            if each.node in task.counts:
                known = self.nodes.get(each.node)
                self.nodes[each.node] = each if known is None else known.plus(each)
        name = task.program.numbers[-1]
        self.crossing[name] = self.crossing.get(name, 0.0) + crossing
        self.elapsed[name] = self.elapsed.get(name, 0.0) + elapsed

    def kept(self) -> dict[str, Any]:
        """Return the sums as JSON can hold them."""
        return {
            "nodes": [asdict(each) for each in self.nodes.values()],
            "crossing": {str(name): value for name, value in self.crossing.items()},
            "elapsed": {str(name): value for name, value in self.elapsed.items()},
            "driver_crossing": self.driver_crossing,
            "runs": dict(self.runs),
        }

    @classmethod
    def back(cls, kept: Mapping[str, Any]) -> "Ledger":
        """Return the sums that a checkpoint kept."""
        nodes = {each["node"]: NodeFigures(**each) for each in kept["nodes"]}
        crossing = {int(name): value for name, value in kept["crossing"].items()}
        elapsed = {int(name): value for name, value in kept["elapsed"].items()}
        return cls(nodes, crossing, elapsed, kept["driver_crossing"], dict(kept["runs"]))
