"""Trees of SELECTs: their windows, and their text.

A window is the argument `window` of its `exp.Table` or `exp.Subquery`: frozen data, no child of
the tree, so that copies and equality carry it and no walk or rewrite of the tree goes into it.
"""

from typing import TypeVar, cast

from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError

from penstock.errors import BadQueryError, SqlError
from penstock.model.events import Mode
from penstock.model.grids import Window as Clip
from penstock.model.windows import Window

WINDOW = "window"
CONTEXT = "context"  # beside it: the mode in which an event is read
CLIP = "clip"  # beside it: which cells of a perspective are read
INPUTS = (exp.Table, exp.Subquery)  # what may have a window
DIALECT = "penstock"  # as sqlglot's registry knows it once dialect.py is loaded

Tree = TypeVar("Tree", bound=exp.Expr)


def window_of(node: exp.Expr) -> Window | None:
    """Return the window that stands after a table's name or a subquery, or None."""
    return cast("Window | None", node.args.get(WINDOW)) if isinstance(node, INPUTS) else None


def context_of(node: exp.Expr) -> Mode | None:
    """Return the consumption mode in which an event is to be read, or None."""
    return cast("Mode | None", node.args.get(CONTEXT)) if isinstance(node, exp.Table) else None


def clip_of(node: exp.Expr) -> Clip | None:
    """Return which cells of a perspective are to be read, or None where nothing is said."""
    return cast("Clip | None", node.args.get(CLIP)) if isinstance(node, exp.Table) else None


def without_windows(tree: Tree) -> Tree:
    """Return a copy in which nothing has a window."""
    copy = tree.copy()
    for node in copy.find_all(*INPUTS):
        node.set(WINDOW, None)
    return copy


def to_sql(tree: exp.Expr) -> str:
    """Return the tree's text with its windows; parsing it gives the tree back."""
    try:
        return tree.sql(
            DIALECT,
            comments=False,
            normalize_functions=False,
            unsupported_level=ErrorLevel.RAISE,
        )
    except RecursionError:
        raise SqlError("nested too deeply to print", hint="nest it less") from None
    except UnsupportedError as error:
        told = str(error).splitlines()[0].rstrip(".")
        raise SqlError(f"this is no Spark SQL: {told[:1].lower()}{told[1:]}") from error
    except Exception as error:  # sqlglot meets some trees with errors of any kind
        raise SqlError("this cannot be printed as Spark SQL") from error


def spark_sql(tree: exp.Expr) -> str:
    """Return the tree's text as Spark reads it; the tree must have no windows left."""
    if any(clip_of(node) for node in tree.find_all(exp.Table)):
        raise BadQueryError(
            "WITHIN stands after what is no perspective",
            hint="of rows it is WHERE, or a window in brackets: [RANGE 1 HOUR]",
        )
    if any(window_of(node) or context_of(node) for node in tree.find_all(*INPUTS)):
        raise BadQueryError(
            "a window stands where Spark would have to read it",
            hint="windows go after streams, queries and subqueries in a query's own FROM",
        )
    return to_sql(tree)
