"""Output rate: how far a processor has fallen behind the most that it has sent (DCAPE-32).

The thesis takes the rate itself as the cost (Equation 6.1) although costs go from 0 to 1 and high
means full. Here the cost is the part that is lost of the best rate since the processor's units last
changed, and units share it by what they send (Equation 6.2). Units whose readers are all on the
same processor send nothing, and have no share.
"""

from penstock.place.costs.observed import Observed
from penstock.place.statistics import CostTable


def output_rate(seen: Observed) -> CostTable:
    """Return how much of its output each processor has lost."""
    sent = sent_by_units(seen)
    costs, shares = {}, {}
    for each in seen.processors:
        units = seen.units_on(each.name)
        rate = sum(sent[unit] for unit in units)
        best = max(rate, seen.statistics.best_output.get(each.name, 0.0))
        costs[each.name] = 1 - rate / best if best else 0.0
        for unit in units:
            shares[unit] = costs[each.name] * sent[unit] / rate if rate else 0.0
    return CostTable(costs, shares)


def sent_by_units(seen: Observed) -> dict[str, float]:
    """Return the rows a second that each unit sends to other processors, or to who asked."""
    readers, placement = seen.network.readers(), seen.placement

    def is_sent(unit: str) -> bool:
        targets = {placement[each] for each in readers[unit]}
        return not targets or targets != {placement[unit]}

    return {
        unit: seen.statistics.of(unit).rows_out if is_sent(unit) else 0.0
        for unit in seen.network.units
    }
