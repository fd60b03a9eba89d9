"""A one-time SELECT: the relations that it names, and the same SELECT over views."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from penstock.errors import BadQueryError, Place, UnknownNameError
from penstock.model.functions.flows import Term
from penstock.model.grids import Window
from penstock.plan.algebra.scope import place_of
from penstock.plan.algebra.window_calls import arguments, constant
from penstock.sql import CLIP, FLOW, WrittenFlow, clip_of, context_of, flow_of, spark_sql, window_of


def over_views(tree: exp.Expr, view_of: Callable[[str], str]) -> str:
    """Return Spark SQL in which every relation is the view that `view_of` gives for its name.

    Where that raises UnknownNameError, the error says where the name stands.
    """
    tree = tree.copy()
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            continue
        if window_of(table) is not None or context_of(table) is not None:
            raise BadQueryError(
                "a one-time SELECT reads what is there now: it has no window",
                hint="use WHERE on the time column, or CREATE QUERY",
            )
        name = ".".join(part.name for part in table.parts)
        if is_named_by_with(table, name):
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        try:
            view = view_of(name)
        except UnknownNameError as error:
            error.place = error.place or place_of(table.this)
            raise
        table.set("this", exp.to_identifier(view))  # samples, pivots and aliases stay
        table.set("db", None)
        table.set("catalog", None)
    return spark_sql(tree)


@dataclass(frozen=True)
class Called:
    """A function in FROM: what it reads, by name or as another call, and its parameters."""

    name: str
    over: "str | Called"
    given: tuple[exp.Expr, ...] = ()
    place: Place | None = None
    flow: Term | None = None

    @property
    def term(self) -> Term:
        """Return the function with its parameters as a flow has it."""
        return self.flow or Term(self.name, tuple(map(constant, self.given)), place=self.place)


def calls_as_names(
    tree: exp.Expr, is_ours: Callable[[str, str], bool], name_of: Callable[[Called], str]
) -> exp.Expr:
    """Return a SELECT in which functions of FROM are names that `name_of` gives.

    `is_ours` tells them from Spark's, by their name and the name of what they read.
    """
    tree = tree.copy()
    for table in list(tree.find_all(exp.Table)):
        call, flow = table.this, flow_of(table)
        if flow is not None:
            called = Called(flow.term.name, table.name, place=flow.place, flow=flow.term)
        elif isinstance(call, exp.Anonymous) and is_ours(call.name, _argument(call).name):
            called = _called(call)
        else:
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(call.name)))
        table.set("this", exp.to_identifier(name_of(called)))
        table.set(FLOW, None)
    return tree


@dataclass(frozen=True)
class Clipped:
    """A name in FROM, and what WITHIN says of it."""

    name: str
    window: Window | None
    place: Place | None


def clips(tree: exp.Expr) -> list[Clipped]:
    """Return the names that a SELECT reads, and what WITHIN says of each."""
    tables = [each for each in tree.find_all(exp.Table) if isinstance(each.this, exp.Identifier)]
    named = [(".".join(part.name for part in each.parts), each) for each in tables]
    return [
        Clipped(name, clip_of(each), place_of(each.this))
        for name, each in named
        if not is_named_by_with(each, name)
    ]


def clips_as_names(tree: exp.Expr, name_of: Callable[[Clipped], str | None]) -> exp.Expr:
    """Return a SELECT in which bases and perspectives are the names that `name_of` gives them.

    It gives none to what is neither.
    """
    tree = tree.copy()
    for table in list(tree.find_all(exp.Table)):
        written = ".".join(part.name for part in table.parts)
        if not isinstance(table.this, exp.Identifier) or is_named_by_with(table, written):
            continue
        name = name_of(Clipped(written, clip_of(table), place_of(table.this)))
        if name is None:
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        table.set("this", exp.to_identifier(name))
        table.set(CLIP, None)
    return tree


def _called(call: exp.Anonymous) -> Called:
    first, *others = arguments(call)
    if not isinstance(first, exp.Anonymous | exp.Column):
        raise BadQueryError(
            f"{spark_sql(first)} is no stream",
            hint="a function reads a stream first",
            place=place_of(call),
        )
    over = _called(first) if isinstance(first, exp.Anonymous) else _dotted(first)
    return Called(call.name, over, tuple(others), place_of(call))


def _dotted(column: exp.Column) -> str:
    return ".".join(part.name for part in column.parts)


def place_of_column(tree: exp.Expr, message: str) -> Place | None:
    """Return where the first column stands that a message of Spark names."""
    missed = message.partition("Did you mean")[0]  # what comes after are others' names
    meant = (each for each in tree.find_all(exp.Column) if f"`{each.name}`" in missed)
    return next((place_of(column) for column in meant), None)


def names_in(tree: exp.Expr) -> set[str]:
    """Return the names of the relations that a SELECT reads, in lower case."""
    named: list[tuple[exp.Expr, str]] = [
        (table, ".".join(part.name for part in table.parts).lower())
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier)
    ]
    streams = map(_argument, functions_in(tree))
    named += [(each, each.name.lower()) for each in streams if isinstance(each, exp.Column)]
    return {name for node, name in named if not is_named_by_with(node, name)}


def is_named_by_with(relation: exp.Expr, name: str) -> bool:
    """Say whether a relation is what a WITH around it names; a WITH elsewhere names another."""
    if isinstance(relation, exp.Table) and len(relation.parts) > 1:
        return False  # a.`b` is not what a WITH calls `a.b`: Spark would read it as a path
    node, name = relation, name.lower()
    while (above := node.parent) is not None:
        known: list[exp.Expr] = []
        if isinstance(above, exp.With):  # one of its SELECTs sees those before it
            known = above.expressions[: cast("int", node.index) + bool(above.recursive)]
        elif isinstance(clause := above.args.get("with_"), exp.With) and clause is not node:
            known = clause.expressions
        if any(each.alias.lower() == name for each in known):
            return True
        node = above
    return False


def functions_in(tree: exp.Expr) -> list[exp.Anonymous]:
    """Return the functions that stand in FROM, each over a stream."""
    tables = (table.this for table in tree.find_all(exp.Table))
    calls = [each for each in tables if isinstance(each, exp.Anonymous)]
    inner = [i for each in calls for i in each.find_all(exp.Anonymous) if i is not each]
    return [*calls, *inner]


def flows_in(tree: exp.Expr) -> list[WrittenFlow]:
    """Return the flows through which a SELECT reads."""
    found = (flow_of(table) for table in tree.find_all(exp.Table))
    return [flow for flow in found if flow is not None]


def _argument(call: exp.Expr) -> exp.Expr:
    """Return the stream that functions, one inside the other, are called over."""
    while isinstance(call, exp.Anonymous) and call.expressions:
        call = call.expressions[0]
    return call
