"""Which operators give trains that hold whole windows, so that rows of a window can be compared."""

from dataclasses import replace

from penstock.model.own_names import own
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.operators import (
    Distinct,
    Filter,
    HopJoin,
    HorvitzThompson,
    LateralView,
    Operator,
    Project,
    TableJoin,
    Top,
    WindowAggregate,
)
from penstock.plan.operators.windows.window_aggregate import END, START

OF_WINDOW = own("of_window")  # tells the windows apart of rows that show neither bound


def window_columns(operator: Operator) -> tuple[str, ...]:
    """Return the columns each of which tells the windows of an operator's rows apart.

    A bound that does not move is none of them: all windows from a landmark share their start.
    Nothing where a window's rows come in several trains, or are no window's.
    """
    match operator:
        case WindowAggregate(assigner=assigner):
            if operator.marks_emission:
                return ()
            if not assigner.lower and not assigner.upper:  # there is one window
                return (START, END)
            return ((START,) if assigner.lower else ()) + ((END,) if assigner.upper else ())
        case HopJoin():
            return (START, END)
        case Filter() | TableJoin() | LateralView() | Top() | Distinct() | HorvitzThompson():
            return window_columns(operator.input)
        case Project(input=below, columns=columns):
            kept = set(map(quoted, window_columns(below)))
            return tuple(name for name, sql in columns if sql in kept)
        case _:
            return ()


def with_windows(operator: Operator) -> Operator:
    """Return the operator with a column that tells its windows apart, hidden where none is shown.

    As it is where its rows are not those of whole windows.
    """
    if window_columns(operator):
        return operator
    match operator:
        case Filter() | Top() | Distinct():
            return replace(operator, input=with_windows(operator.input))
        case TableJoin() | LateralView():
            below = with_windows(operator.input)
            added = operator.schema.columns[len(operator.input.schema) :]
            return replace(operator, input=below, schema=Schema((*below.schema, *added)))
        case Project():
            return _carrying(operator)
        case _:
            return operator


def _carrying(project: Project) -> Project:
    below = with_windows(project.input)
    name = next(iter(window_columns(below)), None)
    column = None if name is None else below.schema.find(name)
    if column is None:
        return project
    columns = (*project.columns, (OF_WINDOW, quoted(column.name)))
    schema = Schema((*project.schema, Column(OF_WINDOW, column.type)))
    return replace(project, input=below, columns=columns, schema=schema)
