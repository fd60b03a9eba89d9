"""Spark's window(…) and session_window(…): other ways to write [RANGE …] and [SESSION GAP …].

    SELECT window.start, count(*) FROM s GROUP BY window(ts, '10 seconds')
    SELECT window_start AS start, count(*) FROM s [RANGE '10 seconds'] GROUP BY window_start

A call becomes the window of the input in FROM, and what names it (the call, `window`, an alias of
it, their fields) becomes the window's bounds.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadQueryError, BadWindowError, PenstockError
from penstock.model.windows import Window
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.plan.algebra.scope import place_of, plain
from penstock.plan.relations.bind_from import BoundFrom
from penstock.sql import parse_select, spark_sql, window_of
from penstock.sql.dialect.trees import WINDOW

START = "window_start"
BOUNDS = {"start": START, "end": "window_end"}
USAGE = {
    "window": "window(ts, '10 seconds'), window(ts, '10 seconds', '5 seconds')",
    "session_window": "session_window(ts, '30 seconds')",
}


@dataclass(frozen=True, slots=True)
class TimeWindowCall:
    """A call, and the names under which a SELECT speaks of it."""

    call: exp.Expr
    names: frozenset[str]

    @property
    def time(self) -> exp.Expr:
        """Return the time that it is given."""
        given: exp.Expr = self.call.expressions[0]
        return given

    def is_meant(self, node: exp.Expr) -> bool:
        """Say whether an expression is the window itself."""
        if isinstance(node, exp.Column):
            return not node.table and node.name.lower() in self.names
        return _is_call(node)

    def field(self, node: exp.Expr) -> str | None:
        """Return the bound that an expression takes out of the window, if it is one."""
        if isinstance(node, exp.Dot) and self.is_meant(node.this):
            return BOUNDS.get(node.name.lower())
        if isinstance(node, exp.Column) and len(node.parts) == 2:  # noqa: PLR2004 - window.start
            first, last = (part.name.lower() for part in node.parts)
            return BOUNDS.get(last) if first in self.names else None
        return None


def in_brackets(select: exp.Select) -> tuple[exp.Select, TimeWindowCall | None]:
    """Return the SELECT with the window in FROM, and what it was; the SELECT itself if none."""
    calls = {spark_sql(each): each for each in _calls(select)}
    if not calls:
        return select, None
    (call, *others) = calls.values()
    if others:
        raise BadQueryError(
            "a SELECT groups by one window of time",
            hint="make each of them a query of its own",
            place=place_of(others[0]),
        )
    names = {each.alias.lower() for each in select.expressions if _aliases_call(each)}
    window = TimeWindowCall(call, frozenset({call.name.lower(), *names}))
    made = select.copy()
    _put_into_from(made, _written(call), window)
    _group(made, window)
    shown = [each for node in made.expressions for each in _shown(node, window)]
    made.set("expressions", shown)
    for clause in ("having", "order", "qualify"):
        if (node := made.args.get(clause)) is not None:
            made.set(clause, _over_bounds(node, window))
    return made, window


def check_time(window: TimeWindowCall, read: BoundFrom) -> None:
    """Raise where the window goes by another column than the event time."""
    times = [each.column for each in read.operator.times]
    meant = read.scope.resolve(window.time)
    if not times or not isinstance(meant, exp.Column) or meant.name != times[0]:
        known = f"by {times[0]}" if times else "by nothing: there is no event time"
        raise BadQueryError(
            f"{window.call.name} is given {spark_sql(window.time)}, and the stream goes {known}",
            hint="a window over a stream closes by its event time (TIMESTAMP BY)",
            place=place_of(window.call),
        )


def _calls(select: exp.Select) -> Iterator[exp.Expr]:
    clauses = [select.args.get(name) for name in ("group", "having", "order", "qualify")]
    for root in (*select.expressions, *(each for each in clauses if each is not None)):
        yield from (node for node in root.walk() if _is_call(node))


def _is_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in USAGE and bool(node.expressions)


def _aliases_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Alias) and _is_call(node.this)


def _written(call: exp.Expr) -> Window:
    """Return the window that a call means."""
    _, *lengths = call.expressions
    words = (
        ("SESSION GAP",) if call.name.lower() == "session_window" else ("RANGE", "SLIDE", "OFFSET")
    )
    constant = all(isinstance(each, exp.Literal | exp.Interval) for each in lengths)
    if not lengths or len(lengths) > len(words) or not constant:
        raise BadWindowError(
            f"{spark_sql(call)} is no window of constant length",
            hint=f"write {USAGE[call.name.lower()]}",
            place=place_of(call),
        )
    said = " ".join(f"{word} {spark_sql(each)}" for word, each in zip(words, lengths, strict=False))
    try:
        tree = parse_select(f"SELECT 1 FROM s [{said}]")
    except PenstockError as error:
        raise BadWindowError(error.message, hint=error.hint, place=place_of(call)) from None
    found = window_of(tree.args["from_"].this)
    assert found is not None  # noqa: S101  (it was written so)
    return found


def _put_into_from(select: exp.Select, written: Window, window: TimeWindowCall) -> None:
    clause = select.args.get("from_")
    inputs = [] if clause is None else [clause.this]
    inputs += [join.this for join in select.args.get("joins") or ()]
    owner = window.time.args.get("table")
    mine = [each for each in inputs if owner and each.alias_or_name.lower() == owner.name.lower()]
    node = next(iter(mine or inputs), None)
    if not isinstance(node, exp.Table | exp.Subquery) or window_of(node) is not None:
        raise BadQueryError(
            f"{window.call.name}(…) stands beside a window in brackets, or over no stream",
            hint="keep one of the two",
            place=place_of(window.call),
        )
    node.set(WINDOW, written)


def _group(select: exp.Select, window: TimeWindowCall) -> None:
    """Replace the window among the keys by its start."""
    group = select.args.get("group")
    if group is None:
        raise BadQueryError(
            f"{window.call.name}(…) needs GROUP BY it",
            hint="GROUP BY window(ts, '10 seconds')",
            place=place_of(window.call),
        )
    if group.args.get("all"):
        keys = [each for each in select.expressions if not any(map(is_aggregate, each.walk()))]
        select.set("group", exp.Group(expressions=[each.unalias().copy() for each in keys]))
        group = select.args["group"]

    def key(node: exp.Expr) -> exp.Expr:
        meant = node
        if isinstance(node, exp.Literal) and node.is_int and isinstance(node.parent, exp.Group):
            place = int(node.this)
            if 1 <= place <= len(select.expressions):
                meant = select.expressions[place - 1].unalias()
        if window.is_meant(meant) or window.field(meant):
            return plain(START)
        return node

    select.set("group", group.transform(key))
    if not any(_is_start(node) for node in select.args["group"].walk()):
        raise BadQueryError(
            f"{window.call.name}(…) is not among the keys",
            hint="GROUP BY window(ts, '10 seconds')",
            place=place_of(window.call),
        )


def _is_start(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name == START


def _shown(node: exp.Expr, window: TimeWindowCall) -> Iterator[exp.Expr]:
    """Yield a column of SELECT over the bounds, under the name that Spark gives it."""
    star = node.table if isinstance(node, exp.Column) and isinstance(node.this, exp.Star) else ""
    if star and star.lower() in window.names:
        yield from (exp.alias_(plain(bound), name) for name, bound in BOUNDS.items())
        return
    over = _over_bounds(node, window)
    if over == node or isinstance(node, exp.Alias):
        yield over
    elif window.is_meant(node):
        yield exp.alias_(over, node.name.lower(), quoted=True)
    else:
        yield exp.alias_(over, node.output_name or spark_sql(node), quoted=True)


def _over_bounds(tree: exp.Expr, window: TimeWindowCall) -> exp.Expr:
    def over(node: exp.Expr) -> exp.Expr:
        if bound := window.field(node):
            return plain(bound)
        if window.is_meant(node):
            pairs = [
                each
                for name, bound in BOUNDS.items()
                for each in (exp.Literal.string(name), plain(bound))
            ]
            return exp.Anonymous(this="named_struct", expressions=pairs)
        return node

    return tree.copy().transform(over)
