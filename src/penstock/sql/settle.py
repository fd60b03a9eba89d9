"""The law of printing: what is read can be printed, and reads as the same again.

sqlglot accepts more than Spark's SQL, and prints some of it as something else. What does not
survive is refused here, before anything is built on it.
"""

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

from penstock.errors import PenstockError, SqlError
from penstock.sql.dialect import Penstock
from penstock.sql.script import split
from penstock.sql.trees import to_sql

Tree = TypeVar("Tree", bound=exp.Expr)

POSITIONS = ("line", "col", "start", "end")  # sqlglot's notes of where a node was read


def select_of(reader: Penstock.Parser) -> exp.Query:
    """Read a SELECT that survives printing."""
    with reader.placed(reader.token):
        return settled(reader.select(), Penstock.Parser.select)


def settled(tree: Tree, rule: Callable[[Penstock.Parser], Tree]) -> Tree:
    """Return the tree, or the equal one that `rule` reads from its text, or refuse it."""
    written = to_sql(tree)
    try:
        again = _read(written, rule)
        stable = to_sql(again) == written
    except (PenstockError, RecursionError):
        stable = False
    if not stable:
        raise SqlError(
            "this is no Spark SQL, or of a form that cannot be carried over",
            hint=f"it would read: {written[:200]}",
        )
    return tree if again == tree else _without_positions(again)


def _read(text: str, rule: Callable[[Penstock.Parser], Tree]) -> Tree:
    tokens, *others = split(text)
    if others:
        raise SqlError("it would read as several statements")
    return Penstock.Parser(dialect=Penstock).read(tokens, text, rule)


def _without_positions(tree: Tree) -> Tree:
    """Forget where the nodes were read: it was not in the user's text."""
    for node in tree.walk():
        for position in POSITIONS:
            node.meta.pop(position, None)
    return tree
