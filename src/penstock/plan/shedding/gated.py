"""Gated: which inputs of a SELECT may come through a gate, and where it stands.

Before a stream; or behind a query that shows tuples or pairs of them: what that one does is done
once for all who read it, and only what is made of it is thinned. If it has gates of its own below
it, its tuples say how many came through, and a second gate drops beyond that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.model.schema import quoted
from penstock.model.windows import RangeWindow, RowsWindow
from penstock.plan.operators import (
    Filter,
    Gate,
    HopJoin,
    ObliviousJoin,
    Operator,
    Project,
    RowsJoin,
    Scan,
    TableJoin,
    Union,
    WindowJoin,
    key,
    walk,
)
from penstock.plan.operators.gate import ADDED, KEPT, SHED
from penstock.plan.relations.bind_join import INNER, join_kind
from penstock.plan.relations.bind_names import names_in_list
from penstock.plan.relations.sources import Lookup, Source, StreamSource, TableSource
from penstock.sql import flow_of, window_of

PAIRS = (WindowJoin, RowsJoin, HopJoin, ObliviousJoin)
TUPLES = (Scan, Filter, Project, TableJoin, Union, Gate, *PAIRS)  # below rows that stand alone
NESTED = ("array", "map", "struct")  # types that rows cannot be sorted by
SINGLE = ("LEFT SEMI", "LEFT ANTI")  # joins with tables in which a tuple stays one


@dataclass(frozen=True, slots=True)
class GatedInput:
    """An entry of FROM: its alias, what it reads, and why that comes whole, if it does."""

    alias: str
    source: Source | None
    whole: str


def inputs_of(select: exp.Select, lookup: Lookup, *, sums: bool) -> list[GatedInput]:
    """Return what a SELECT without SELECTs inside reads; `sums` if it aggregates."""
    return [_input(node, lookup, sums=sums) for node in _entries(select)]


def through_gates(lookup: Lookup, max_error: float, *, sums: bool) -> Lookup:
    """Return a lookup that puts a gate over whatever may have one."""

    def found(name: str) -> Source | None:
        source = lookup(name)
        if not isinstance(source, StreamSource) or why_no_gate(source.operator, name, sums=sums):
            return source
        thinned = _says_its_share(source.operator)
        return StreamSource(Gate(source.operator, max_error, thinned=thinned))

    return found


def why_no_gate(operator: Operator, name: str, *, sums: bool) -> str:
    """Return why no gate may stand over an operator of that name, or nothing."""
    below = list(walk(operator))
    if not all(isinstance(node, TUPLES) for node in below):
        return f"{name} is no stream"
    if operator.schema.find(KEPT) is not None:
        return f"{name} has a column {KEPT} of its own"
    nested = any(each.type.lower().startswith(NESTED) for each in operator.schema.columns)
    if nested and any(isinstance(node, PAIRS) for node in below):
        return f"{name} has rows without an order, in which a replay could drop the same"
    if not any(isinstance(node, Gate) for node in below):
        return ""
    if not _says_its_share(operator):
        return f"{name} reads a sample, and does not say how large"
    if any(isinstance(node, Gate) and node.worth for node in below):
        return f"{name} drops what is worth least"
    if sums and any(map(_drops_together, below)):
        return f"{name} drops rows of a join together"
    return ""


def why_not_named(select: exp.Select, inputs: list[GatedInput]) -> str:
    """Return why the columns that a SELECT names are not those behind its gates, or nothing."""
    names = {each.name.lower() for each in select.find_all(exp.Column)}
    for node, each in zip(_entries(select), inputs, strict=True):
        if not each.whole and names_in_list(node):
            return f"it has other names for the columns of {node.name}"
        told = isinstance(each.source, StreamSource) and _says_its_share(each.source.operator)
        if told and not each.whole and names & set(ADDED):
            return f"it reads what {node.name} says of its own answers"
    return ""


def why_not_joined(select: exp.Select, inputs: list[GatedInput], *, sums: bool) -> str:
    """Return why a join over samples would mean something else, or nothing."""
    joins = select.args.get("joins") or ()
    streams = [each for each in inputs if not isinstance(each.source, TableSource)]
    if len(streams) == 1:
        many = any(join_kind(join) not in SINGLE for join in joins)
        return "tuples of a join with a table come and go together" if sums and many else ""
    if sums:
        return "pairs of a join come and go together"
    if any(join.args.get("method") for join in joins):
        return "it has NATURAL JOIN"
    if any(join_kind(join) not in INNER for join in joins):
        return "it says who has no partner"
    windows = [window_of(node) for node in _entries(select)]
    if any(isinstance(each, RowsWindow) for each in windows):
        return "its windows are not spans of time"
    if any(isinstance(each, RangeWindow) and each.slide for each in windows):
        return "it joins window by window"
    read = [key(each.source.operator) for each in streams if isinstance(each.source, StreamSource)]
    return "it reads a stream twice" if len(set(read)) < len(read) else ""


def _entries(select: exp.Select) -> Iterator[exp.Expr]:
    if select.args.get("from_"):
        yield select.args["from_"].this
    yield from (join.this for join in select.args.get("joins") or ())


def _input(node: exp.Expr, lookup: Lookup, *, sums: bool) -> GatedInput:
    if not isinstance(node, exp.Table):
        return GatedInput("", None, "it has a SELECT inside")
    if flow_of(node) is not None or not isinstance(node.this, exp.Identifier):
        return GatedInput("", None, "functions need all items")
    source = lookup(node.name)
    if not isinstance(source, StreamSource):
        return GatedInput(node.alias_or_name, source, f"{node.name} is no stream")
    whole = why_no_gate(source.operator, node.name, sums=sums)
    return GatedInput(node.alias_or_name, source, whole)


def _says_its_share(operator: Operator) -> bool:
    """Say whether an operator is a query's that shows what came through gates, and how much."""
    if not isinstance(operator, Project):
        return False
    return quoted(KEPT) in dict(operator.columns).get(SHED, "")


def _drops_together(node: Operator) -> bool:
    """Say whether a tuple that a gate drops below is missed in several rows of a join."""
    several = isinstance(node, PAIRS) or (isinstance(node, TableJoin) and node.kind not in SINGLE)
    return several and any(isinstance(below, Gate) for below in walk(node))


def shows_tuples(root: Operator) -> bool:
    """Say whether rows are tuples as they came through gates, or pairs, and none is made of many.

    What is below a gate has no say: whatever it was made of, behind it each row is for itself.
    """
    return _all_above_gates(root, lambda node: isinstance(node, TUPLES) and not _prolongs(node))


def _prolongs(node: Operator) -> bool:
    return isinstance(node, PAIRS) and not (isinstance(node, WindowJoin) and node.kind == "INNER")


def _all_above_gates(node: Operator, holds: Callable[[Operator], bool]) -> bool:
    if isinstance(node, Gate):
        return True
    return holds(node) and all(_all_above_gates(each, holds) for each in node.inputs)


def gates_above(root: Operator) -> list[Gate]:
    """Return the gates that a query's own operators read from, none behind another."""
    if isinstance(root, Gate):
        return [root]
    found = {key(gate): gate for each in root.inputs for gate in gates_above(each)}
    return list(found.values())
