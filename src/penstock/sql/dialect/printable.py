"""The law of printing: what is read can be printed, and reads as the same again.

sqlglot accepts more than Spark's SQL, and prints some of it as something else. What does not
survive is refused here, before anything is built on it.
"""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

from penstock.errors import BadWindowError, PenstockError, SqlError, shortened
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.modifiers import modifier_of
from penstock.sql.dialect.refusals import place_at
from penstock.sql.dialect.script import split
from penstock.sql.dialect.trees import to_sql, window_of

Tree = TypeVar("Tree", bound=exp.Expr)

SHOWN = 200  # characters of the text that an error repeats
RELATIONAL = (exp.Query, exp.UDTF, exp.Table, exp.Join, exp.With, exp.CTE)
POSITIONS = ("line", "col", "start", "end")  # sqlglot's notes of where a node was read


def select_of(reader: Penstock.Parser) -> exp.Query:
    """Read a SELECT that survives printing."""
    with reader.placed(reader.token):
        tree = reader.select()
        for node in tree.walk():
            _check(node, reader.sql)
        return settled(tree, Penstock.Parser.select)


def settled(tree: Tree, rule: Callable[[Penstock.Parser], Tree]) -> Tree:
    """Return the tree, or the equal one that `rule` reads from its text, or refuse it."""
    text = to_sql(tree)
    try:
        again = _read(text, rule)
        stable = to_sql(again) == text
    except (PenstockError, RecursionError):
        stable = False
    if not stable:
        raise SqlError(
            "this is no Spark SQL, or of a form that cannot be carried over",
            hint=f"it would read: {shortened(text, SHOWN)}",
        )
    if again == tree:
        return tree
    for (kind, name), _ in (_relational(tree) - _relational(again)).items():
        written = name.strip("_").replace("_", " ").upper()
        raise SqlError(
            f"{written} of {kind.upper()} is no Spark SQL",
            hint=f"it would read: {shortened(text, SHOWN)}",
        )
    return _without_positions(again)


def _relational(tree: exp.Expr) -> Counter[tuple[str, str]]:
    """Count the clauses of a tree; an expression may print as an equal one, a clause may not go."""
    return Counter(
        (node.key, name)
        for node in tree.find_all(*RELATIONAL)
        for name, value in node.args.items()
        if value
    )


def _check(node: exp.Expr, text: str) -> None:
    """Refuse modifiers and windows that make no sense, at their own place."""
    try:
        modifier_of(node)
        if isinstance(node, exp.Subquery) and window_of(node):
            _check_window(node)
    except PenstockError as error:
        starts = (each.meta["start"] for each in node.walk() if "start" in each.meta)
        start = next(starts, None)
        error.place = None if start is None else place_at(text, start)
        raise


def _check_window(node: exp.Subquery) -> None:
    """Refuse the window of a subquery that is no input by itself: nobody would look for it."""
    if not isinstance(node.parent, exp.From | exp.Join) and not node.args.get("joins"):
        raise BadWindowError(
            "the window of a subquery stands inside other parentheses",
            hint="take the outer ones away: FROM (SELECT …) [RANGE 1 MINUTE] AS x",
        )


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
