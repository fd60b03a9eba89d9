"""A SELECT inside a branch of a flow: over each item for itself, and telling the item of each row.

Only filters and projections are: an aggregate, a window or a join looks at several items, and in a
branch these are the ones that happen to go there.
"""

from collections.abc import Callable
from dataclasses import replace

from penstock.errors import NotYetError
from penstock.functions.operators.select_call import PLACE, with_place
from penstock.model.schema import quoted
from penstock.plan.operators import Filter, Operator, Project, Scan, key
from penstock.plan.sharing.units import select_sql


def branch_select(root: Operator, name: str) -> Callable[[str], str]:
    """Return the SELECT of a function's operators over a relation whose items have a place."""
    placed = _placed(root, name)
    leaf = placed
    while leaf.inputs:
        (leaf,) = leaf.inputs
    below = key(leaf)
    return lambda relation: select_sql(placed, {below: relation})


def _placed(operator: Operator, name: str) -> Operator:
    match operator:
        case Scan():
            return replace(operator, schema=with_place(operator.schema))
        case Filter():
            return replace(operator, input=_placed(operator.input, name))
        case Project():
            return replace(
                operator,
                input=_placed(operator.input, name),
                columns=(*operator.columns, (PLACE, quoted(PLACE))),
                schema=with_place(operator.schema),
            )
        case _:
            raise NotYetError(
                f"{name} looks at more than each item for itself, and stands inside a branch",
                hint=f"put it before or behind the branches: pipe({name}, pcc(…))",
            )
