"""What a windowed aggregate is asked for, whatever its window."""

from dataclasses import dataclass

from penstock.plan.algebra.aggregates import Aggregate

Named = tuple[tuple[str, str], ...]
Aggregates = tuple[tuple[str, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class RequestedAggregates:
    """Keys and aggregates by name; `sets` is how many grouping sets there are, 0 for plain keys."""

    keys: Named
    aggregates: Aggregates
    sets: int = 0

    def partials(self) -> list[str]:
        """Return the SQL of all partials."""
        return [sql for _, each in self.aggregates for sql in each.partials]
