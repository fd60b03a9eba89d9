"""GROUP BY over a window: keys, aggregates, and what is computed from them."""

from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from penstock.errors import BadQueryError, NotYetError, UnknownColumnError
from penstock.model.schema import Schema, quoted
from penstock.model.windows import RangeWindow, Window
from penstock.plan.aggregates import Aggregate, decompose, is_aggregate
from penstock.plan.operators import EventTime, Operator, WindowAggregate
from penstock.plan.operators.window_aggregate import END, START
from penstock.plan.scope import WINDOW, Scope, is_bound, place_of, plain
from penstock.plan.sources import Analyst
from penstock.sql import spark_sql

LEAF = "input"
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class BoundAggregate:
    """The aggregate, and the output columns and HAVING over its result."""

    operator: WindowAggregate
    columns: list[tuple[str, exp.Expr]]
    having: exp.Expr | None


def bind_aggregate(
    select: exp.Select,
    shown: list[tuple[str, exp.Expr]],
    operator: Operator,
    scope: Scope,
    window: Window | None,
    analyst: Analyst,
) -> BoundAggregate:
    """Return the window aggregate of a SELECT with GROUP BY or aggregates."""
    span, time = _window(window, operator)
    group = select.args.get("group")
    keys = _Keys(scope, shown).of(group)
    outputs = [(name, scope.resolve(_mark_bounds(node))) for name, node in shown]
    condition = select.args.get("having")
    having = (
        scope.resolve(_mark_bounds(_spell_out(condition.this, shown, scope))) if condition else None
    )
    calls = _calls([node for _, node in outputs] + ([having] if having is not None else []))
    result = _operator(operator, span, time, keys, calls, analyst)
    rewrite = _Rewrite(
        {sql: name for name, sql in result.keys}, {a.text: name for name, a in result.aggregates}
    )
    return BoundAggregate(
        result,
        [(name, rewrite.over_result(node)) for name, node in outputs],
        rewrite.over_result(having) if having is not None else None,
    )


def _window(window: Window | None, operator: Operator) -> tuple[RangeWindow, EventTime]:
    if window is None:
        raise BadQueryError(
            "an aggregate over a stream needs a window",
            hint="write it after the stream, such as FROM traffic [RANGE 10 SECONDS]",
        )
    if not isinstance(window, RangeWindow):
        raise NotYetError(f"{type(window).__name__} does not run yet", hint="[RANGE …] does")
    if not operator.times:
        raise BadQueryError(
            "a time window needs a stream with an event time",
            hint="give the stream TIMESTAMP BY, or select window_start in the query below",
        )
    return window, operator.times[0]


@dataclass(frozen=True, slots=True)
class _Keys:
    scope: Scope
    shown: list[tuple[str, exp.Expr]]

    def of(self, group: exp.Group | None) -> list[str]:
        if group is None:
            return []
        # GROUP BY ROLLUP (a) is an expression, GROUP BY a WITH ROLLUP an argument.
        if group.args.get("totals") or group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
            raise NotYetError(
                "GROUP BY with ROLLUP, CUBE, GROUPING SETS or TOTALS does not run yet"
            )
        if group.args.get("all"):
            nodes = [n for _, n in self.shown if not any(is_aggregate(e) for e in n.walk())]
        else:
            nodes = [self._meant(node) for node in group.expressions]
        texts = {
            spark_sql(self.scope.resolve(node)): None for node in nodes if not _is_bound_name(node)
        }
        return sorted(texts)

    def _meant(self, node: exp.Expr) -> exp.Expr:
        """Return the expression behind an ordinal or an alias."""
        if isinstance(node, exp.Literal) and node.is_int:
            place = int(node.this)
            if not 1 <= place <= len(self.shown):
                raise BadQueryError(f"GROUP BY {place}: there are {len(self.shown)} columns")
            return self.shown[place - 1][1]
        if isinstance(node, exp.Column) and not node.table and not _is_bound_name(node):
            try:
                self.scope.resolve(node)
            except UnknownColumnError:
                wanted = node.name.lower()
                for name, meant in self.shown:
                    if name.lower() == wanted:
                        return meant
                raise
        return node


def _spell_out(condition: exp.Expr, shown: list[tuple[str, exp.Expr]], scope: Scope) -> exp.Expr:
    """Return HAVING with the aliases of the SELECT replaced by what they stand for."""
    meant = {name.lower(): node for name, node in shown}
    known = {name.lower() for each in scope.relations for name, _ in each.columns}

    def replace(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table:
            name = node.name.lower()
            if name in meant and name not in known:
                return exp.paren(meant[name].copy())
        return node

    return condition.copy().transform(replace)


def _is_bound_name(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not node.table and node.name.lower() in (START, END)


def _mark_bounds(tree: exp.Expr) -> exp.Expr:
    """Return a copy in which the window's own bounds, outside aggregates, carry its qualifier."""

    def replace(node: exp.Expr) -> exp.Expr:
        if _is_bound_name(node) and not _inside_aggregate(node):
            return exp.column(exp.to_identifier(node.name.lower(), quoted=True), table=WINDOW)
        return node

    return tree.copy().transform(replace, copy=False)


def _inside_aggregate(node: exp.Expr) -> bool:
    above = node.parent
    while above is not None:
        if is_aggregate(above):
            return True
        above = above.parent
    return False


def _calls(nodes: list[exp.Expr]) -> list[exp.Expr]:
    found: dict[str, exp.Expr] = {}
    for root in nodes:
        for node in root.walk(prune=is_aggregate):
            if is_aggregate(node):
                found.setdefault(spark_sql(node), node)
    return [found[text] for text in sorted(found)]


def _operator(
    operator: Operator,
    span: RangeWindow,
    time: EventTime,
    keys: list[str],
    calls: list[exp.Expr],
    analyst: Analyst,
) -> WindowAggregate:
    def type_of(sql: str) -> str:
        seen = analyst.schema(f"SELECT {sql} AS x FROM {LEAF}", {LEAF: operator.schema})
        return seen.columns[0].type

    micros = f"unix_micros({quoted(time.column)})"
    aggregates: list[tuple[str, Aggregate]] = []
    for place, call in enumerate(calls):
        type_of(spark_sql(call))  # Spark judges the call as it stands
        made = decompose(call, time=micros, show=spark_sql, type_of=type_of)
        aggregates.append((f"a{place}", made))
    size = span.size // MICROSECOND
    bare = WindowAggregate(
        operator,
        time,
        size,
        (span.slide or span.size) // MICROSECOND,
        tuple((f"k{place}", sql) for place, sql in enumerate(keys)),
        tuple(aggregates),
        Schema(),
    )
    schema = analyst.schema(bare.sql([LEAF]), {LEAF: operator.schema})
    return WindowAggregate(operator, time, size, bare.slide, bare.keys, bare.aggregates, schema)


@dataclass(frozen=True, slots=True)
class _Rewrite:
    keys: dict[str, str]
    aggregates: dict[str, str]

    def over_result(self, tree: exp.Expr) -> exp.Expr:
        """Return the expression over the aggregate's output columns."""

        def replace(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and node.table == WINDOW:
                return plain(node.name)
            text = spark_sql(node) if not isinstance(node, exp.Identifier) else ""
            if text in self.keys:
                return plain(self.keys[text])
            if is_aggregate(node):
                return plain(self.aggregates[text])
            if isinstance(node, exp.Column) and not is_bound(node):
                raise BadQueryError(
                    f"column {node.name} is neither grouped nor aggregated",
                    hint="add it to GROUP BY, or wrap it, such as first(…)",
                    place=place_of(node),
                )
            return node

        return tree.copy().transform(replace)
