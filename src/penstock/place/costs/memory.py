"""Memory: the bytes that states and queues take, of what a processor has (DCAPE-31).

The thesis counts tuples; bytes are the same where all tuples are as wide.
"""

from penstock.place.costs.observed import Observed
from penstock.place.statistics import CostTable


def memory(seen: Observed) -> CostTable:
    """Return how full the memory of each processor is."""
    kept = {unit: seen.statistics.of(unit).kept_bytes for unit in seen.network.units}
    return seen.table_of(kept, {each.name: each.memory_bytes for each in seen.processors})
