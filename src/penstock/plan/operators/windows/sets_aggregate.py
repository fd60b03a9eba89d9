"""SetsAggregate: a WindowAggregate that answers for several sets of its keys."""

from dataclasses import dataclass, fields

from penstock.plan.operators.windows.grouping_sets import each_set_sql, sets_text
from penstock.plan.operators.windows.window_aggregate import Numbers, WindowAggregate


@dataclass(frozen=True, slots=True)
class SetsAggregate(WindowAggregate):
    """Partials are kept for each of the `sets`; tuples are kept once, and spread at the close."""

    sets: int = 0

    # The class is named where super() would be: dataclasses make a new one for their slots.
    def text(self) -> str:
        """Show how many sets there are."""
        return WindowAggregate.text(self) + sets_text(self.sets)

    def pane_sql(self, relation: str) -> str:
        """Return the SELECT that turns tuples into partials of every set."""
        spread = relation if self.raw is not None else each_set_sql(relation, self.sets)
        return WindowAggregate.pane_sql(self, spread)

    def _spread_sql(self, parts: str, numbers: Numbers) -> str:
        spread = WindowAggregate._spread_sql(self, parts, numbers)
        if self.raw is None:
            return spread
        return f"SELECT * FROM {each_set_sql(f'({spread})', self.sets)}"


def of_sets(aggregate: WindowAggregate, sets: int) -> SetsAggregate:
    """Return the aggregate over tuples that come once for each of the sets."""
    same = {each.name: getattr(aggregate, each.name) for each in fields(aggregate)}
    return SetsAggregate(**same, sets=sets)
