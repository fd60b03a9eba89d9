"""GROUP BY over a window: keys, aggregates, and what is computed from them."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from penstock.errors import BadQueryError, NotYetError, UnknownColumnError
from penstock.model.own_names import BOUNDS, own
from penstock.model.schema import Schema, quoted
from penstock.model.windows import RowsWindow, SemanticWindow, SessionWindow, Window
from penstock.plan.algebra.aggregates import Aggregate, decompose, is_aggregate
from penstock.plan.algebra.aliases import (
    Aliases,
    Knows,
    RowComparison,
    Shown,
    inside_aggregate,
    laterally,
    spelled,
)
from penstock.plan.algebra.mentioned import mentioned
from penstock.plan.algebra.scope import WINDOW, Scope, is_bound, place_of, plain
from penstock.plan.algebra.user_calls import is_users
from penstock.plan.operators import NUMBER, Operator, Ordered, WindowAggregate, walk
from penstock.plan.operators.windows.grouping_sets import SET
from penstock.plan.operators.windows.sets_aggregate import of_sets
from penstock.plan.relations.bind_from import BoundFrom
from penstock.plan.relations.sources import LEAF, VALUE, Analyst
from penstock.plan.windows import bind_keyed_rows, bind_session, bind_when
from penstock.plan.windows.asked import Aggregates, Named, RequestedAggregates
from penstock.plan.windows.bind_windows import INSTANT, Sequence, sequence
from penstock.plan.windows.grouping import Grouping, grouping_of, is_about_sets
from penstock.sql import spark_sql

# What is written to cut a time down to spans, with the unit where there is one.
TRUNCATED = re.compile(
    r"\bdate_trunc(?=\('(second|minute|hour|day|week)')"
    r"|\b(?:date_trunc|trunc|date_format|to_date|hour|minute|second|day|dayofmonth|date)(?=\()",
    re.IGNORECASE,
)

Make = Callable[[Any, Operator, RequestedAggregates, Analyst], Operator]
BOUND = ""  # what stands for window_start and window_end among the keys

# Windows that their content makes, each with an operator of its own.
BY_CONTENT: dict[type[Window], Make] = {
    SessionWindow: bind_session.make,
    RowsWindow: bind_keyed_rows.make,
    SemanticWindow: bind_when.make,
}


@dataclass(frozen=True, slots=True)
class Emission:
    """When rows of a window come beside its close, in microseconds."""

    early: int | None = None
    lateness: int = 0

    def __bool__(self) -> bool:
        """Say whether there is anything beside the close."""
        return self.early is not None or self.lateness > 0


ONCE = Emission()


@dataclass(frozen=True, slots=True)
class BoundAggregate:
    """The aggregate, and the output columns, HAVING, ORDER BY and QUALIFY over its result."""

    operator: Operator
    columns: list[tuple[str, exp.Expr]]
    having: exp.Expr | None
    compared: RowComparison


def bind_aggregate(
    select: exp.Select,
    shown: list[tuple[str, exp.Expr]],
    read: BoundFrom,
    analyst: Analyst,
    emission: Emission = ONCE,
) -> BoundAggregate:
    """Return the window aggregate of a SELECT with GROUP BY or aggregates."""
    scope, bounds = read.scope, read.window is not None  # else window_start is a column

    def knows(column: exp.Column) -> bool:
        return (bounds and _is_bound_name(column)) or scope.knows(column)

    def write(node: exp.Expr) -> exp.Expr:
        return scope.resolve(_marked(node, bounds))

    shown = laterally(shown, knows)
    grouping = _Keys(scope, shown, bounds).of(select.args.get("group"))
    keys = grouping.keys_sql()

    def keeps(column: exp.Column) -> bool:
        return (bounds and _is_bound_name(column)) or spark_sql(write(column)) in keys

    shown = _spell_over(shown, knows)
    aliases = Aliases(shown, knows, keeps)
    outputs = [(name, write(node)) for name, node in shown]
    condition = select.args.get("having")
    having = write(aliases.condition(condition.this)) if condition else None
    compared = aliases.compared(select).written(write)
    asked_of = [*(node for _, node in outputs), *compared.nodes]
    calls = _calls([*asked_of, having] if having is not None else asked_of)
    maker = _AggregateMaker(read.operator, analyst, emission)
    asked = RequestedAggregates(
        maker.named(sorted(keys.values())), maker.aggregates(calls), grouping.count
    )
    window = read.window
    if isinstance(window, SemanticWindow):
        window = bind_when.resolved(window, scope)
    result = maker.operator(window, asked)
    names = {sql: name for name, sql in asked.keys}
    rewrite = _Rewrite(
        {text: names[sql] for text, sql in keys.items()},
        {each.text: name for name, each in asked.aggregates},
        grouping,
    )
    return BoundAggregate(
        result,
        [(name, rewrite.over_result(node)) for name, node in outputs],
        rewrite.over_result(having) if having is not None else None,
        compared.written(rewrite.over_result),
    )


def bind_content(
    operator: Operator, window: Window, columns: Iterable[str], analyst: Analyst
) -> WindowAggregate:
    """Return the operator that gives each window's tuples as they are."""
    return _AggregateMaker(operator, analyst, ONCE).content(window, frozenset(columns))


def aggregates_of(operator: Operator, calls: list[exp.Expr], analyst: Analyst) -> Aggregates:
    """Return calls of aggregates over an operator's tuples as partials, with names."""
    return _AggregateMaker(operator, analyst, ONCE).aggregates(calls)


@dataclass(frozen=True, slots=True)
class _Keys:
    scope: Scope
    shown: list[tuple[str, exp.Expr]]
    bounds: bool

    def of(self, group: exp.Group | None) -> Grouping:
        if group is None:
            return Grouping()
        if group.args.get("all"):
            group = exp.Group(expressions=[n.copy() for _, n in self.shown if _is_key(n)])
        found = grouping_of(group, self._written)
        places = found.places(BOUND)
        if places and len(places) < len(found.sets):
            raise BadQueryError(
                "a grouping set without the window's bounds would go over all windows",
                hint="leave window_start out of ROLLUP, CUBE and GROUPING SETS",
                place=place_of(group),
            )
        return found.without(BOUND)

    def _written(self, node: exp.Expr) -> str:
        """Return a key as SQL; the window's own bounds are all one."""
        node = self._meant(node)
        if self.bounds and _is_bound_name(node):
            return BOUND
        return spark_sql(self.scope.resolve(node))

    def _meant(self, node: exp.Expr) -> exp.Expr:
        """Return the expression behind an ordinal or an alias."""
        if isinstance(node, exp.Literal) and node.is_int:
            place = int(node.this)
            if not 1 <= place <= len(self.shown):
                raise BadQueryError(f"GROUP BY {place}: there are {len(self.shown)} columns")
            return self.shown[place - 1][1]
        own = self.bounds and _is_bound_name(node)
        if isinstance(node, exp.Column) and not node.table and not own:
            try:
                self.scope.resolve(node)
            except UnknownColumnError:
                wanted = node.name.lower()
                for name, meant in self.shown:
                    if name.lower() == wanted:
                        return meant
                raise
        return node


def _spell_over(shown: Shown, knows: Knows) -> Shown:
    """Return the columns with aliases inside OVER, later ones too, as what they stand for."""
    others = {name.lower(): node for name, node in shown if not node.find(exp.Window)}
    return [
        (name, spelled(node, others, knows) if node.find(exp.Window) else node)
        for name, node in shown
    ]


def _is_key(node: exp.Expr) -> bool:
    """Say whether GROUP BY ALL takes a column; a number divides nothing and would be a place."""
    return not isinstance(node, exp.Literal) and not any(is_aggregate(e) for e in node.walk())


def _is_bound_name(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not node.table and node.name.lower() in BOUNDS


def _marked(tree: exp.Expr, bounds: bool) -> exp.Expr:
    """Return a copy in which the window's own bounds, outside aggregates, carry its qualifier."""
    if not bounds:
        return tree.copy()

    def replace(node: exp.Expr) -> exp.Expr:
        if _is_bound_name(node) and not inside_aggregate(node):
            return exp.column(
                exp.to_identifier(BOUNDS[node.name.lower()], quoted=True), table=WINDOW
            )
        return node

    return tree.copy().transform(replace, copy=False)


def _calls(nodes: list[exp.Expr]) -> list[exp.Expr]:
    found: dict[str, exp.Expr] = {}
    for root in nodes:
        for node in root.walk(prune=is_aggregate):
            if is_aggregate(node):
                found.setdefault(spark_sql(node), node)
    return [found[text] for text in sorted(found)]


@dataclass(frozen=True, slots=True)
class _AggregateMaker:
    below: Operator
    analyst: Analyst
    emission: Emission

    def named(self, keys: list[str]) -> Named:
        return tuple((own(f"k{place}"), sql) for place, sql in enumerate(keys))

    def aggregates(self, calls: list[exp.Expr]) -> Aggregates:
        time = self._time()
        made: list[tuple[str, Aggregate]] = []
        for place, call in enumerate(calls):
            if not is_users(call):
                self._type_of(spark_sql(call))  # Spark judges the call as it stands
            aggregate = decompose(call, time=time, show=spark_sql, type_of=self._type_of)
            made.append((own(f"a{place}"), aggregate))
        return tuple(made)

    def operator(self, window: Window | None, asked: RequestedAggregates) -> Operator:
        """Return the operator that answers for the windows."""
        if window is None:
            return self._of_sequence(self._instants(asked.keys), asked)
        found = sequence(window, self.below)
        if found is not None:
            return self._of_sequence(found, asked)
        if self.emission:
            raise BadQueryError("EMIT EARLY and ALLOWED LATENESS need a window with stated bounds")
        maker = BY_CONTENT.get(type(window))
        if maker is None:
            raise NotYetError(f"{type(window).__name__} does not run yet", hint="[RANGE …] does")
        return maker(window, self.below, asked, self.analyst)

    def content(self, window: Window, columns: frozenset[str]) -> WindowAggregate:
        """Return the operator that gives the windows' tuples."""
        found = sequence(window, self.below)
        if found is None:
            raise BadQueryError(
                "a window that its content makes needs an aggregate to compute over it",
                hint="aggregate, or take RANGE, ROWS, LANDMARK or BEGIN",
            )
        kept = tuple(name for name in self.below.schema.names if name.lower() in columns)
        bare = WindowAggregate(
            self.below,
            found.time,
            found.assigner,
            (),
            (),
            Schema(),
            axis=found.axis,
            raw=kept,
            grouped=False,
            reads_history=found.reads_history,
        )
        return self._analysed(bare)

    def _of_sequence(self, found: Sequence, asked: RequestedAggregates) -> WindowAggregate:
        raw = None
        if any(each.is_holistic for _, each in asked.aggregates):
            texts = [*(sql for _, sql in asked.keys), self._time(), *asked.partials()]
            raw = mentioned(texts, self.below.schema)
        bare = WindowAggregate(
            self.below,
            found.time,
            found.assigner,
            asked.keys,
            asked.aggregates,
            Schema(),
            axis=found.axis,
            raw=raw,
            early=self.emission.early,
            lateness=self.emission.lateness,
            reads_history=found.reads_history,
        )
        return self._analysed(of_sets(bare, asked.sets) if asked.sets else bare)

    def _analysed(self, bare: WindowAggregate) -> WindowAggregate:
        schema = self.analyst.schema(bare.sql([LEAF]), {LEAF: self.below.schema})
        return replace(bare, schema=schema)

    def _instants(self, keys: Named) -> Sequence:
        """Return one window for each moment of an event time that is grouped by."""
        grouped = {sql for _, sql in keys}
        for time in self.below.times:
            if quoted(time.column) in grouped:
                return Sequence(INSTANT, time)
        if found := next(filter(None, map(TRUNCATED.search, grouped)), None):
            raise BadQueryError(
                f"groups by {found[0]}(…) never close: nothing says when one has all its tuples",
                hint=f"write FROM traffic [RANGE 1 {(found[1] or 'minute').upper()}], which has "
                "window_start",
            )
        raise BadQueryError(
            "an aggregate over a stream needs a window",
            hint="write it after the stream, such as FROM traffic [RANGE 10 SECONDS], or group "
            "by a time that the query below gives, such as window_start (window_end of windows "
            "from a landmark)",
        )

    def _time(self) -> str:
        """Return the time of a tuple, for first and last: also where windows go by numbers."""
        times = self.below.times
        if not times:  # in order of arrival where that is known
            return NUMBER if self.below.schema.find(NUMBER) is not None else "0L"
        if times[0].column != NUMBER:
            return f"unix_micros({quoted(times[0].column)})"
        numbering = [node for node in walk(self.below) if isinstance(node, Ordered)][-1]
        return f"unix_micros({quoted(numbering.time.column)})" if numbering.time else NUMBER

    def _type_of(self, sql: str) -> str:
        seen = self.analyst.schema(
            f"SELECT {sql} AS {VALUE} FROM {LEAF}", {LEAF: self.below.schema}
        )
        return seen.columns[0].type


@dataclass(frozen=True, slots=True)
class _Rewrite:
    keys: dict[str, str]
    aggregates: dict[str, str]
    grouping: Grouping

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
            if is_about_sets(node):
                return self.grouping.told(node, self.keys.get(SET, ""))
            if isinstance(node, exp.Column) and not is_bound(node):
                raise BadQueryError(
                    f"column {node.name} is neither grouped nor aggregated",
                    hint="add it to GROUP BY, or wrap it, such as first(…)",
                    place=place_of(node),
                )
            return node

        return tree.copy().transform(replace)
