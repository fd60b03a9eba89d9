"""Observed: what every cost model sees, and the step that they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.place.network import Network
from penstock.place.placement import Placement
from penstock.place.processor import Processor
from penstock.place.statistics import CostTable, Statistics


@dataclass(frozen=True, slots=True)
class Observed:
    """Units and who runs them, the processors, and what was last reported."""

    network: Network
    placement: Placement
    processors: Sequence[Processor]
    statistics: Statistics

    def units_on(self, processor: str) -> list[str]:
        """Return the units of a processor, in the network's order."""
        return [name for name in self.network.units if self.placement[name] == processor]

    def table_of(self, amounts: Mapping[str, float], capacities: Mapping[str, float]) -> CostTable:
        """Return what units use of their processors; no processor is more than full."""
        costs, shares = {}, {}
        for processor, capacity in capacities.items():
            units = self.units_on(processor)
            used = sum(amounts[unit] for unit in units)
            costs[processor] = min(1.0, used / capacity)
            for unit in units:
                shares[unit] = costs[processor] * amounts[unit] / used if used else 0.0
        return CostTable(costs, shares)
