"""SELECTs inside expressions, and the parts of a condition."""

from collections.abc import Iterable, Iterator

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.own_names import LEFT, RIGHT
from penstock.model.schema import Schema
from penstock.plan.algebra.fallible import can_fail
from penstock.plan.algebra.scope import place_of
from penstock.sql import parse_select, spark_sql


def refuse_deep(node: exp.Expr | None, where: str) -> None:
    """Raise where an expression looks beyond its own tuple."""
    if node is not None and node.find(exp.Query):
        raise BadQueryError(
            f"{where} cannot have a SELECT inside an expression",
            hint="WHERE, HAVING and the columns of SELECT may have one, over tables",
            place=place_of(node),
        )


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what AND joins, however it is bracketed, in the order of the text."""
    waiting = [condition]
    while waiting:
        node = waiting.pop()
        while isinstance(node, exp.Paren):  # a SELECT keeps its own: it is a value by them
            node = node.this
        if isinstance(node, exp.And):
            waiting += [node.right, node.left]
        else:
            yield node


def equal_columns(
    on: str, names: tuple[str, str] = (LEFT, RIGHT), *, null_safe: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the columns of two inputs that a condition says are equal.

    With `null_safe` also those that are equal where both are NULL.
    """
    kinds = (exp.EQ, exp.NullSafeEQ) if null_safe else exp.EQ
    for each in conjuncts(parse_select(f"SELECT {on or 'true'}").expressions[0]):
        if isinstance(each, kinds):
            found = {
                node.table: node for node in (each.left, each.right) if type(node) is exp.Column
            }
            if found.keys() == set(names):
                yield found[names[0]].name, found[names[1]].name


def in_order(conditions: Iterable[exp.Expr], schema: Schema | None = None) -> tuple[str, ...]:
    """Return conditions that all have to hold as SQL, each once, in the order to ask them.

    First come those that cannot fail, sorted, so that their order makes no other node; then the
    others as they are written, since one may guard the next.
    """
    texts = {spark_sql(each): can_fail(each, schema) for each in conditions}
    return (
        *sorted(text for text, fails in texts.items() if not fails),
        *(text for text, fails in texts.items() if fails),
    )
