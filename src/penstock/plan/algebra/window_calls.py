"""GSDM's window functions in the FROM of a function's SELECT (GSDM-12).

currentWindow(s)              the stream as it is
slidingWindow(s, size, step)  s [ROWS size SLIDE step]
timeWindow(s, span)           for each item, those of the last `span` seconds: a window that ends
                              with it. `time_windows` gives the items of each, and an aggregate over
                              them is one of each window.
"""

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import BadOptionError, BadQueryError
from penstock.functions.library.window_functions import WINDOW_END, WINDOW_ITEM, time_windows
from penstock.model.functions.flows import Term, Value
from penstock.model.windows import RowsWindow
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.plan.algebra.scope import place_of
from penstock.sql import WrittenFlow, flow_of, spark_sql, with_flow

Values = Mapping[str, exp.Expr]
USAGE = {
    "currentwindow": "currentWindow(s)",
    "slidingwindow": "slidingWindow(s, size, step)",
    "timewindow": "timeWindow(s, seconds)",
}


def windowed(node: exp.Table, call: exp.Anonymous, values: Values) -> exp.Table:
    """Return a table of FROM that calls a window function as the stream with its window."""
    name = call.name.lower()
    if name not in USAGE:
        return node
    match name, call.expressions:
        case "currentwindow", [stream]:
            return _over(stream, node)
        case "slidingwindow", [stream, size, *step] if len(step) <= 1:
            rows = _whole(size, values)
            made = _over(stream, node)
            made.set("window", RowsWindow(rows, _whole(step[0], values) if step else rows))
            return made
        case "timewindow", [stream, span]:
            term = Term(time_windows.name, (_seconds(span, values),), place=place_of(call))
            return with_flow(_over(stream, node), WrittenFlow(term, place=term.place))
        case _:
            raise BadQueryError(f"{spark_sql(call)} is no window", hint=f"write {USAGE[name]}")


def by_window(select: exp.Expr) -> exp.Expr:
    """Return a SELECT whose aggregates over time windows are those of each of them."""
    for each in list(select.find_all(exp.Select)):
        if _reads_time_windows(each) and _aggregates(each):
            group = each.args.get("group") or exp.Group()
            if group.args.get("all"):
                raise BadQueryError(
                    "GROUP BY ALL over timeWindow", hint="name the columns that are grouped by"
                )
            keys = [exp.column(name) for name in (WINDOW_END, WINDOW_ITEM)]
            group.set("expressions", [*group.expressions, *keys])
            each.set("group", group)
    return select


def constant(node: exp.Expr) -> Value:
    """Return a parameter that stands in FROM as Python's own value."""
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        return None
    literal = node.this if isinstance(node, exp.Neg) else node
    if isinstance(literal, exp.Literal):
        if literal.is_string:
            return str(literal.this)
        text = f"{'-' if literal is not node else ''}{literal.this}"
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    raise BadOptionError(
        f"{spark_sql(node)} is no constant", hint="parameters of a function are numbers and texts"
    )


def _over(stream: exp.Expr, node: exp.Table) -> exp.Table:
    if not isinstance(stream, exp.Column):
        raise BadQueryError(f"{spark_sql(stream)} is no stream", hint="a window is one of a stream")
    name = exp.to_identifier(stream.name, quoted=True)
    return exp.Table(this=name, alias=node.args.get("alias"))


def _whole(node: exp.Expr, values: Values) -> int:
    value = _given(node, values)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadOptionError(f"{spark_sql(node)} is no number of items")
    return value


def _seconds(node: exp.Expr, values: Values) -> float:
    value = _given(node, values)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadOptionError(f"{spark_sql(node)} is no number of seconds", hint="timeWindow(s, 10)")
    return float(value)


def _given(node: exp.Expr, values: Values) -> Value:
    return constant(values.get(node.name.lower(), node) if isinstance(node, exp.Column) else node)


def _reads_time_windows(select: exp.Select) -> bool:
    tables = [join.this for join in select.args.get("joins") or ()]
    if (clause := select.args.get("from_")) is not None:
        tables.append(clause.this)
    flows = [flow_of(each) for each in tables]
    return any(flow is not None and flow.term.name == time_windows.name for flow in flows)


def _aggregates(select: exp.Select) -> bool:
    asked = [*select.expressions, *([having.this] if (having := select.args.get("having")) else [])]
    grouped = select.args.get("group") is not None
    return grouped or any(is_aggregate(each) for node in asked for each in node.walk())


def arguments(call: exp.Anonymous) -> list[exp.Expression]:
    """Return what a function in FROM is given, of which the first is the stream that it reads."""
    if not call.expressions:
        raise BadQueryError(
            f"{call.name} needs the stream that it reads",
            hint=f"FROM {call.name}(radio)",
            place=place_of(call),
        )
    return list(call.expressions)
