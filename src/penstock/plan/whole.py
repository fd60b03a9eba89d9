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
from penstock.plan.operators.window_aggregate import END, START


def window_columns(operator: Operator) -> tuple[str, ...]:
    """Return the columns each of which tells the windows of an operator's rows apart.

    A bound that does not move is none of them: all windows from a landmark share their start.
    Nothing where a window's rows come in several trains, or are no window's.
    """
    match operator:
        case WindowAggregate(hops=hops):
            if operator.lateness:
                return ()
            return ((START,) if hops.lower else ()) + ((END,) if hops.upper else ())
        case HopJoin():
            return (START, END)
        case Filter() | TableJoin() | Top() | Distinct() | Weigh():
            return window_columns(operator.input)
        case Project(input=below, columns=columns):
            kept = set(map(quoted, window_columns(below)))
            return tuple(name for name, sql in columns if sql in kept)
        case _:
            return ()
