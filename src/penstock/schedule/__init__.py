"""Strategies: how the graph is cut into units, and which ready unit runs next."""

from penstock.errors import UnknownOptionError
from penstock.schedule.round_robin import RoundRobin
from penstock.schedule.strategy import ReadyUnit, Strategy

STRATEGIES: dict[str, type[Strategy]] = {"round_robin": RoundRobin}

__all__ = ["STRATEGIES", "ReadyUnit", "RoundRobin", "Strategy", "make_strategy"]


def make_strategy(name: str) -> Strategy:
    """Return a new strategy of that name."""
    if name not in STRATEGIES:
        raise UnknownOptionError(
            f"no strategy {name}", hint=f"there are: {', '.join(sorted(STRATEGIES))}"
        )
    return STRATEGIES[name]()
