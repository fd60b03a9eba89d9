"""Busy time: the seconds of work a second, of what a processor's cores can do."""

from penstock.place.costs.observed import Observed
from penstock.place.statistics import CostTable


def busy_time(seen: Observed) -> CostTable:
    """Return how busy each processor is with its units."""
    busy = {unit: seen.statistics.of(unit).busy for unit in seen.network.units}
    return seen.table_of(busy, {each.name: each.capacity for each in seen.processors})
