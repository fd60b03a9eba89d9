"""Which operators give trains that hold whole windows, so that rows of a window can be compared."""

from penstock.model.schema import quoted
from penstock.plan.operators import (
    Distinct,
    Filter,
    HopJoin,
    Operator,
    Project,
    TableJoin,
    Top,
    Weigh,
    WindowAggregate,
)
from penstock.plan.operators.window_aggregate import START


def window_column(operator: Operator) -> str | None:
    """Return the column that tells the windows of an operator's rows apart.

    None where a window's rows come in several trains, or are no window's.
    """
    match operator:
        case WindowAggregate():
            return None if operator.lateness else START
        case HopJoin():
            return START
        case Filter() | TableJoin() | Top() | Distinct() | Weigh():
            return window_column(operator.input)
        case Project(input=below, columns=columns):
            kept = window_column(below)
            if kept is None:
                return None
            return next((name for name, sql in columns if sql == quoted(kept)), None)
        case _:
            return None
