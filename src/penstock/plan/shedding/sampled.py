"""Sampled: a SELECT over a stream as one over a sample of it, with answers that admit it.

Tuples come through a gate, which says with each how many did (`KEPT`). Windows are aggregated
for each such share apart, plainly, and weighed when they close (`scaling.py`). Three columns are
added: `_error`, how wrong the row may be at most, relative to the truth, in 95 of 100 rows;
`_shed`, the share of its tuples that was dropped; `_rows`, from how many tuples it was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from sqlglot import exp, parse_one

from penstock.errors import BadQueryError
from penstock.model.schema import Column, Schema, quoted
from penstock.model.windows import GenericWindow, RangeWindow
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.plan.operators import Filter, HorvitzThompson, Operator, Project, WindowAggregate
from penstock.plan.operators.gate import ADDED, ALL, ERROR, KEPT, ROWS, SHED
from penstock.plan.operators.windows.sample_scaling import Kind, SampleEstimate, SampleScaling
from penstock.plan.relations.sources import LEAF
from penstock.plan.select.bind import Binder
from penstock.plan.select.bind_modifiers import modifies
from penstock.plan.shedding.gated import inputs_of, through_gates, why_not_joined, why_not_named
from penstock.plan.shedding.lifted import lifted
from penstock.plan.windows.bind_aggregate import aggregates_of
from penstock.sql import spark_sql, window_of

# What would mean something else over a sample, or something that no sample tells.
COMPARING = ("laterals", "distinct", "qualify", "limit", "order", "with_")
EVERY = "count(1)"


def bind_sampled(binder: Binder, tree: exp.Expr, max_error: float) -> Operator:
    """Return the operators of a query over gates; only where nothing says why it is whole."""
    binder.bind(tree)  # what is wrong with it is said of the query as it was written
    assert isinstance(tree, exp.Select)  # noqa: S101  (else it is answered whole)
    binder, tree = lifted(binder, tree)
    sums = _sums(tree)
    gated = replace(binder, lookup=through_gates(binder.lookup, max_error, sums=sums))
    bound = gated.bind(tree)
    if taken := [name for name in bound.schema.names if name.lower() in ADDED]:
        raise BadQueryError(
            f"with max_error the answer has a column {taken[0]} of its own",
            hint="give yours another name",
        )
    if sums:
        return _Sampling(binder).over(bound)
    inputs = inputs_of(tree, binder.lookup, sums=sums)
    return gated.bind(_with_share(tree, [each.alias for each in inputs if not each.whole]))


def why_whole(binder: Binder, tree: exp.Expr) -> str:
    """Return why a query cannot be answered by a sample, or nothing."""
    if not isinstance(tree, exp.Select):
        return "it is more than one SELECT"
    if binder.emission:
        return "it corrects its answers"
    if found := next((name for name in COMPARING if tree.args.get(name)), ""):
        return f"it has {found.rstrip('s_').upper()}"
    binder, tree = lifted(binder, tree)
    if any(each is not tree for each in tree.find_all(exp.Query)):
        return "it has a SELECT inside"
    aggregates, sums = _aggregates(tree), _sums(tree)
    inputs = inputs_of(tree, binder.lookup, sums=sums)
    if not inputs or all(each.whole for each in inputs):
        return inputs[0].whole if inputs else "it reads nothing"
    if why := why_not_named(tree, inputs):
        return why
    if modifies(tree) or tree.find(exp.Window):
        return "it compares tuples with one another"
    if tree.args.get("joins") and (why := why_not_joined(tree, inputs, sums=sums)):
        return why
    return _why_not_told(tree, aggregates)


def _why_not_told(tree: exp.Select, aggregates: Sequence[exp.Expr]) -> str:
    """Return why a sample does not tell what is asked of tuples or windows, or nothing."""
    entries = [tree.args["from_"].this, *(each.this for each in tree.args.get("joins") or ())]
    window = next((found for each in entries if (found := window_of(each)) is not None), None)
    if aggregates and not _is_timed(window):
        return "its windows are not spans of time"
    if window is not None and not aggregates and not tree.args.get("joins"):
        return "it shows what is in its windows"
    if untold := next((each for each in aggregates if _kind(each) is None), None):
        return f"no sample tells how wrong {spark_sql(untold)} is"
    return ""


def _is_timed(window: object) -> bool:
    if isinstance(window, GenericWindow):
        return not isinstance(window.begin, int) and not window.is_reverse
    return isinstance(window, RangeWindow)


def _sums(tree: exp.Expr) -> bool:
    """Say whether rows are made of many tuples."""
    return bool(tree.args.get("group") or _aggregates(tree))


def _aggregates(tree: exp.Expr) -> list[exp.Expr]:
    """Return the calls of aggregates, each with what belongs to it, outermost."""
    return [
        node
        for node in tree.walk()
        if is_aggregate(node) and not (node.parent is not None and is_aggregate(node.parent))
    ]


def _with_share(tree: exp.Select, gated: Sequence[str]) -> exp.Select:
    """Return a SELECT of tuples with what is to be said of each; `gated` are aliases."""
    select = tree.copy()
    shown = [_without_kept(node, gated) for node in select.expressions]
    joins = bool(tree.args.get("joins"))
    names = [f"{quoted(alias)}.{KEPT}" if joins else KEPT for alias in gated]
    share = "1 - " + " * ".join(f"{name} / {ALL}D" for name in names)
    added = (f"{share} AS {ERROR}", f"{share} AS {SHED}", f"1L AS {ROWS}")
    select.set("expressions", [*shown, *map(_parsed, added)])
    return select


def _without_kept(node: exp.Expr, gated: Sequence[str]) -> exp.Expr:
    star, is_meant = node, True
    if isinstance(node, exp.Column):
        star, is_meant = node.this, _is_among(node.table, gated)
    if isinstance(star, exp.Star) and is_meant:
        star.set("except_", [*(star.args.get("except_") or ()), exp.column(KEPT)])
    return node


def _is_among(alias: str, aliases: Sequence[str]) -> bool:
    return alias.lower() in {each.lower() for each in aliases}


@dataclass(frozen=True, slots=True)
class _Sampling:
    """Puts the scaling where the aggregate over all tuples stands."""

    binder: Binder

    def over(self, root: Operator) -> Operator:
        shown = _mentioned(root)
        return self._over(root, shown)

    def _over(self, node: Operator, shown: str) -> Operator:
        if isinstance(node, Filter):
            return replace(node, input=self._over(node.input, shown))
        if isinstance(node, Project):
            below = self._over(node.input, shown)
            columns = (*node.columns, *((name, quoted(name)) for name in ADDED))
            added = tuple(Column(name, _type_in(below.schema, name)) for name in ADDED)
            schema = Schema((*node.schema.columns, *added))
            return replace(node, input=below, columns=columns, schema=schema)
        assert isinstance(node, WindowAggregate)  # noqa: S101  (else it is answered whole)
        return self._weigh(node, shown)

    def _weigh(self, whole: WindowAggregate, shown: str) -> HorvitzThompson:
        calls = [(name, _parsed(each.text)) for name, each in whole.aggregates]
        texts = {text: "" for _, call in calls for text in _parts(call)} | {EVERY: ""}
        made = aggregates_of(whole.input, [_parsed(text) for text in texts], self.binder.analyst)
        named = dict(zip(texts, (name for name, _ in made), strict=True))
        kept = (KEPT, quoted(KEPT))
        bare = replace(whole, keys=(*whole.keys, kept), aggregates=made)
        below = replace(bare, schema=self._schema(bare.sql([LEAF]), whole.input.schema))
        estimates = [
            SampleEstimate(
                name, _known_kind(call), _type_in(whole.schema, name), quoted(name) in shown
            ).of(*(named[text] for text in _parts(call)))
            for name, call in calls
        ]
        keys = tuple(name for name, _ in whole.keys)
        scaling = SampleScaling(keys, tuple(estimates), named[EVERY])
        weigh = HorvitzThompson(below, scaling, Schema())
        return replace(weigh, schema=self._schema(weigh.sql([LEAF]), below.schema))

    def _schema(self, sql: str, leaf: Schema) -> Schema:
        return self.binder.analyst.schema(sql, {LEAF: leaf})


def _mentioned(root: Operator) -> str:
    """Return the text of the columns that are shown."""
    while isinstance(root, Filter):
        root = root.input
    return root.text() if isinstance(root, Project) else ""


def _type_in(schema: Schema, name: str) -> str:
    found = schema.find(name)
    assert found is not None, name  # noqa: S101
    return found.type


def _kind(call: exp.Expr) -> Kind | None:
    """Return what kind of aggregate a call is, or None where no sample tells its error."""
    inner = call.this if isinstance(call, exp.Filter) else call
    if isinstance(inner.this, exp.Distinct) or inner.args.get("expressions"):
        return None
    return next((kind for kind in get_args(Kind) if inner.key == kind), None)


def _known_kind(call: exp.Expr) -> Kind:
    kind = _kind(call)
    assert kind is not None  # noqa: S101  (else it is answered whole)
    return kind


def _parts(call: exp.Expr) -> Sequence[str]:
    """Return the aggregates that a call is estimated from: rows, total, squares."""
    inner, condition = call, ""
    if isinstance(call, exp.Filter):
        inner, condition = call.this, f" FILTER (WHERE {spark_sql(call.expression.this)})"
    over = spark_sql(inner.this)
    if isinstance(inner, exp.Count):
        return (f"count({over}){condition}",)
    value = f"CAST({over} AS DOUBLE)"
    parts = (f"count({value})", f"sum({over})", f"sum({value} * {value})")
    return tuple(f"{each}{condition}" for each in parts)


def _parsed(text: str) -> exp.Expr:
    return parse_one(text, dialect="spark")
