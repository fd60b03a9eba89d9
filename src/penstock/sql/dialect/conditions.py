"""Conditions: what may not stand in them."""

from collections.abc import Callable
from typing import Literal

from sqlglot import exp

from penstock.sql.dialect.modifiers import modifier_of

Part = Literal["a subquery", "an aggregate", "a modifier", "a window function"]

PARTS: dict[Part, Callable[[exp.Expr], bool]] = {
    "a subquery": lambda node: isinstance(node, exp.Query),
    "an aggregate": lambda node: isinstance(node, exp.AggFunc),
    "a modifier": lambda node: modifier_of(node) is not None,
    "a window function": lambda node: isinstance(node, exp.Window),
}


def find_part(condition: exp.Expr, *parts: Part) -> Part | None:
    """Return the first of these parts that the condition has, or None.

    What stands inside a subquery is that one's own.
    """
    nodes = list(condition.walk(prune=lambda node: isinstance(node, exp.Query)))
    return next((part for part in parts if any(map(PARTS[part], nodes))), None)
