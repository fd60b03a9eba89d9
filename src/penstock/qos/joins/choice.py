"""The choice of a strategy by the memory that a join may take and the latency that it may have."""

from collections.abc import Sequence

from penstock.qos.joins.memory import Cost


def choose(found: Sequence[Cost], most_tuples: float, most_seconds: float) -> Cost:
    """Return the cost to take: the quickest that fits into memory, and into the latency.

    Where none fits, memory goes first: what takes least of it, and of equal ones the quickest.
    """
    quickest = sorted(found, key=lambda each: each.seconds)
    fitting = [
        each for each in quickest if each.all_tuples <= most_tuples and each.seconds <= most_seconds
    ]
    return fitting[0] if fitting else min(quickest, key=lambda each: each.all_tuples)
