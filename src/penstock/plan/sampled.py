"""Sampled: a SELECT over a stream as one over a sample of it, with answers that admit it.

A tuple that came through a gate stands for `_weight` tuples. Counts and sums add weights up, means
divide them, and three columns are added: `_error`, how wrong the row may be at most, relative to
the truth, in 95 of 100 rows; `_shed`, the share of its tuples that was dropped; `_rows`, from how
many tuples it was made. The bounds are those of `bounds.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp, parse_one

from penstock.errors import BadQueryError
from penstock.model.schema import Schema
from penstock.model.windows import GenericWindow, RangeWindow
from penstock.plan.aggregates import is_aggregate
from penstock.plan.bind import Binder
from penstock.plan.bind_modifiers import modifies
from penstock.plan.bounds import COUNT, MEAN, SUM
from penstock.plan.operators import Gate, Operator, Scan
from penstock.plan.operators.gate import WEIGHT
from penstock.plan.sources import Lookup, Source, StreamSource
from penstock.sql import spark_sql, window_of

ERROR, SHED, ROWS = "_error", "_shed", "_rows"
ADDED = (ERROR, SHED, ROWS)
MORE = f"{WEIGHT} * ({WEIGHT} - 1)"  # what a tuple adds to the variance of a count
WHOLE = ("tinyint", "smallint", "int", "bigint")
# What would mean something else over a sample, or something that no sample tells.
COMPARING = ("joins", "laterals", "distinct", "qualify", "limit", "order", "with_")


@dataclass(frozen=True, slots=True)
class Answer:
    """One call of an aggregate: what stands for it over a sample, and the bound of its error."""

    value: str
    bound: str | None


def bind_sampled(binder: Binder, tree: exp.Expr, max_error: float) -> Operator:
    """Return the operators of a query over gates; only where nothing says why it is whole."""
    whole = binder.bind(tree)
    assert isinstance(tree, exp.Select)  # noqa: S101  (else it is answered whole)
    if taken := [name for name in whole.schema.names if name.lower() in ADDED]:
        raise BadQueryError(
            f"with max_error the answer has a column {taken[0]} of its own",
            hint="give yours another name",
        )
    gated = replace(binder, lookup=_through_gates(binder.lookup, max_error))
    return gated.bind(_rewritten(tree, whole.schema))


def why_whole(binder: Binder, tree: exp.Expr) -> str:
    """Return why a query cannot be answered by a sample, or nothing."""
    if not isinstance(tree, exp.Select):
        return "it is more than one SELECT"
    if binder.emission:
        return "it corrects its answers"
    if found := next((name for name in COMPARING if tree.args.get(name)), ""):
        return f"it has {found.rstrip('s_').upper()}"
    node = tree.args["from_"].this if tree.args.get("from_") else None
    inside = any(each is not tree for each in tree.find_all(exp.Query))
    if inside or not isinstance(node, exp.Table):
        return "it has a SELECT inside"
    if not _is_scan(binder.lookup(node.name)):
        return f"{node.name} is no stream"
    if modifies(tree) or tree.find(exp.Window):
        return "it compares tuples with one another"
    window, aggregates = window_of(node), _aggregates(tree)
    if (window is not None or aggregates) and not _is_timed(window):
        return "its windows are not spans of time"
    if window is not None and not aggregates:
        return "it shows what is in its windows"
    if untold := next((each for each in aggregates if _answer(each).bound is None), None):
        return f"no sample tells how wrong {spark_sql(untold)} is"
    return ""


def _is_scan(source: Source | None) -> bool:
    return isinstance(source, StreamSource) and isinstance(source.operator, Scan)


def _is_timed(window: object) -> bool:
    if isinstance(window, GenericWindow):
        return not isinstance(window.begin, int) and not window.is_reverse
    return isinstance(window, RangeWindow)


def _through_gates(lookup: Lookup, max_error: float) -> Lookup:
    def found(name: str) -> Source | None:
        source = lookup(name)
        if isinstance(source, StreamSource) and isinstance(source.operator, Scan):
            return StreamSource(Gate(source.operator, max_error))
        return source

    return found


def _aggregates(tree: exp.Expr) -> list[exp.Expr]:
    """Return the calls of aggregates, each with what belongs to it, outermost."""
    return [
        node
        for node in tree.walk()
        if is_aggregate(node) and not (node.parent is not None and is_aggregate(node.parent))
    ]


def _rewritten(tree: exp.Select, schema: Schema) -> exp.Select:
    select = tree.copy()
    calls = _aggregates(select)
    if not calls:
        shown = [_without_weight(node) for node in select.expressions]
        share = f"1 - 1 / {WEIGHT}"
        added = (f"{share} AS {ERROR}", f"{share} AS {SHED}", f"1L AS {ROWS}")
        select.set("expressions", [*shown, *map(_parsed, added)])
        return select
    answers = [_answer(call) for call in calls]
    shown_calls = {
        id(call) for item in select.expressions for call in calls if _is_inside(call, item)
    }
    bounds = [a.bound for call, a in zip(calls, answers, strict=True) if id(call) in shown_calls]
    items = [_named(node) for node in select.expressions]
    select.set("expressions", items)
    for call, answer in zip(calls, answers, strict=True):
        call.replace(_parsed(answer.value))
    for item, column in zip(items, schema.columns, strict=True):
        if item.find(exp.AggFunc):
            item.set("this", _as_type(item.this, column.type))
    added_items = (
        f"{_error(bounds)} AS {ERROR}",
        f"1 - count(1) / sum({WEIGHT}) AS {SHED}",
        f"count(1) AS {ROWS}",
    )
    select.set("expressions", [*items, *map(_parsed, added_items)])
    return select


def _is_inside(node: exp.Expr, outer: exp.Expr) -> bool:
    at: exp.Expr | None = node
    while at is not None and at is not outer:
        at = at.parent
    return at is outer


def _named(node: exp.Expr) -> exp.Alias:
    """Return a shown column with the name that it would have without what is made of it."""
    if isinstance(node, exp.Alias):
        return node
    name = node.output_name or spark_sql(node)
    return exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))


def _without_weight(node: exp.Expr) -> exp.Expr:
    star = node.this if isinstance(node, exp.Column) else node
    if isinstance(star, exp.Star):
        star.set("except_", [*(star.args.get("except_") or ()), exp.column(WEIGHT)])
    return node


def _as_type(node: exp.Expr, type_: str) -> exp.Expr:
    """Return the value in the type that the answer has over all tuples."""
    text = spark_sql(node)
    return _parsed(f"CAST({f'round({text})' if type_ in WHOLE else text} AS {type_})")


def _answer(call: exp.Expr) -> Answer:
    inner, condition = call, ""
    if isinstance(call, exp.Filter):
        inner, condition = call.this, f" FILTER (WHERE {spark_sql(call.expression.this)})"
    over = inner.this
    plain = isinstance(inner, exp.Count | exp.Sum | exp.Avg) and not isinstance(over, exp.Distinct)
    if not plain or inner.args.get("expressions"):
        return Answer(spark_sql(call), None)
    shown = spark_sql(over)
    seen = "{}" if _is_every_tuple(over) else f"CASE WHEN {shown} IS NOT NULL THEN {{}} END"
    count, counts = (f"sum({seen.format(each)}){condition}" for each in (WEIGHT, MORE))
    if isinstance(inner, exp.Count):
        some, more = f"coalesce({count}, 0D)", f"coalesce({counts}, 0D)"
        return Answer(f"CAST(round({some}) AS BIGINT)", f"{COUNT}({some}, {more})")
    value = f"CAST({shown} AS DOUBLE)"
    rows, total = f"count({shown}){condition}", f"sum({value} * {WEIGHT}){condition}"
    totals = f"sum({value} * {value} * {MORE}){condition}"
    if isinstance(inner, exp.Sum):
        return Answer(total, f"{SUM}(abs({total}), {totals}, {rows})")
    mean, both = f"({total} / {count})", f"sum({value} * {MORE}){condition}"
    return Answer(mean, f"{MEAN}({mean}, {count}, {counts}, {both}, {totals}, {rows})")


def _is_every_tuple(over: exp.Expr) -> bool:
    return isinstance(over, exp.Star | exp.Literal)


def _error(bounds: Iterable[str | None]) -> str:
    """Return the greatest bound, or none where one has none."""
    known = [each for each in dict.fromkeys(bounds) if each is not None]
    if len(known) <= 1:
        return known[0] if known else f"{COUNT}(sum({WEIGHT}), sum({MORE}))"
    missing = " OR ".join(f"{each} IS NULL" for each in known)  # which greatest would pass over
    return f"CASE WHEN {missing} THEN NULL ELSE greatest({', '.join(known)}) END"


def _parsed(text: str) -> exp.Expr:
    return parse_one(text, dialect="spark")
