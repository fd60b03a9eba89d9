"""From a parsed SELECT to operators."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import BadQueryError, NotYetError, UnknownColumnError
from penstock.model.definitions import WHATEVER, JoinMode, Keeping
from penstock.model.schema import Schema, quoted
from penstock.model.windows import Window
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.plan.algebra.aliases import Aliases, RowComparison, Shown, has_aggregate, laterally
from penstock.plan.algebra.clauses import conjuncts, in_order, refuse_deep
from penstock.plan.algebra.scope import Scope, place_of, plain, within_window
from penstock.plan.operators import (
    Distinct,
    EventTime,
    Filter,
    Operator,
    Ordered,
    Project,
    Top,
)
from penstock.plan.operators.windows.window_aggregate import EMITTED
from penstock.plan.relations.bind_from import BoundFrom, FromBinder
from penstock.plan.relations.bind_function import FunctionBinder
from penstock.plan.relations.bind_names import names_in_list, refuse_twins, renamed
from penstock.plan.relations.constants import constant_source, is_constant
from penstock.plan.relations.meanings import in_words, meanings, told
from penstock.plan.relations.sources import (
    LEAF,
    Analyst,
    Flows,
    Lookup,
    Source,
    StreamSource,
    with_name,
)
from penstock.plan.select.bind_laterals import with_laterals
from penstock.plan.select.bind_modifiers import bind_modifiers, modifies
from penstock.plan.select.bind_per_window import PerWindow
from penstock.plan.select.bind_sets import (
    ALL_ROWS,
    branches,
    by_name,
    over_moments,
    tagged,
    union,
)
from penstock.plan.select.bind_subqueries import Meeting, Subqueries, refuse_meeting
from penstock.plan.select.consumed import refuse_unread
from penstock.plan.select.named_windows import with_windows_spelt_out
from penstock.plan.select.struct_stars import with_fields
from penstock.plan.select.time_windows import check_time, in_brackets
from penstock.plan.windows.bind_aggregate import ONCE, Emission, bind_aggregate, bind_content
from penstock.plan.windows.bind_windows import numbered
from penstock.sql import spark_sql

SAYS_HOW = "emitted"  # the column that EMIT EARLY and ALLOWED LATENESS add


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds SELECTs against what `lookup` knows; `analyst` tells types.

    `emission` is for the outermost SELECT: when it gives rows of a window beside its close.
    `join` says what a join window by window does with the pairs it found; `flows` knows functions.
    `keeping` says how joins without windows keep their tuples.
    """

    lookup: Lookup
    analyst: Analyst
    emission: Emission = ONCE
    join: JoinMode = "recompute"
    flows: Flows | None = None
    keeping: Keeping = WHATEVER

    def bind(self, tree: exp.Expr) -> Operator:
        """Return the operators of a SELECT, or of several that UNION and the like join."""
        refuse_unread(tree)
        return self._bind(tree)

    def _bind(self, tree: exp.Expr) -> Operator:
        if tree.args.get("with_"):
            return self._with_names(tree.args["with_"])._bind(_without_names(tree))
        if isinstance(tree, exp.Subquery):
            return self._bind(tree.this)
        if isinstance(tree, exp.SetOperation):
            return self._bind_sets(tree)
        if not isinstance(tree, exp.Select):
            raise BadQueryError(f"a standing query is a SELECT, not {tree.key.upper()}")
        return self._bind_select(tree)

    @property
    def _below(self) -> "Binder":
        """Return the binder of a SELECT inside this one."""
        return replace(self, emission=ONCE)

    @property
    def _from(self) -> FromBinder:
        below, functions = self._below, None
        if self.flows is not None:
            functions = FunctionBinder(
                self.lookup, self.flows, lambda tree, known: replace(below, lookup=known).bind(tree)
            )
        return FromBinder(
            self.lookup, self.analyst, below._bind, self.join, functions, self.keeping
        )

    def _with_names(self, clause: exp.Expr) -> "Binder":
        """Return the binder that also knows what WITH names."""
        binder = self
        for each in clause.expressions:
            if is_constant(each.this):
                source: Source = constant_source(each.this, each, self.analyst)
            else:
                named = renamed(binder._below._bind(each.this), names_in_list(each))
                source = StreamSource(named)
            known = with_name(binder.lookup, each.alias, source)
            binder = replace(binder, lookup=known)
        return binder

    def _bind_sets(self, tree: exp.SetOperation) -> Operator:
        if self.emission:
            raise BadQueryError(f"EMIT EARLY and ALLOWED LATENESS over {tree.key.upper()}")
        inputs: Sequence[Operator] = [self._below._bind(each) for each in branches(tree)]
        inputs = by_name(tree, inputs, self._project)
        all_rows = union(tagged(tree, inputs, self._project), self.analyst)
        if not (select := over_moments(tree, all_rows)):
            return all_rows
        known = with_name(self.lookup, ALL_ROWS, StreamSource(all_rows))
        return replace(self, lookup=known).bind(select)

    def _bind_select(self, select: exp.Select) -> Operator:
        select, meetings = Subqueries(self.lookup).taken(with_windows_spelt_out(select))
        for clause in ("group", "order", "qualify"):
            refuse_deep(select.args.get(clause), clause.upper())
        if modifies(select):
            return self._bind_modified(select, meetings)
        select, in_time = in_brackets(select)
        read = self._from.of(select)
        if in_time is not None:
            check_time(in_time, read)
        window = read.window
        read = self._with_laterals(select, replace(read, operator=numbered(window, read.operator)))
        with in_words(read.operator):
            return self._over(select, read, meetings)

    def _over(self, select: exp.Select, read: BoundFrom, meetings: Iterable[Meeting]) -> Operator:
        """Return what a SELECT makes of its FROM."""
        having, window, scope = select.args.get("having"), read.window, read.scope
        operator = self._chosen(read.operator, read, meetings)
        shown = self._shown(select, read)
        asked = [node for _, node in shown] + ([having.this] if having else [])
        if _is_distinct_content(select, window, asked):
            select = select.copy()
            select.set("group", exp.Group(all=True))
        if select.args.get("group") or any(map(has_aggregate, asked)):
            read = replace(read, operator=operator)
            bound = bind_aggregate(select, shown, read, self.analyst, self.emission)
            operator, columns, compared = bound.operator, bound.columns, bound.compared
            if bound.having is not None:
                operator = self._filter(operator, bound.having)
        else:
            operator, columns, compared = self._plain(select, shown, operator, scope, window)
        return self._finished(select, operator, columns, compared)

    def _with_laterals(self, select: exp.Select, read: BoundFrom) -> BoundFrom:
        laterals = select.args.get("laterals") or []
        operator, scope = with_laterals(read.operator, read.scope, laterals, self.analyst)
        return replace(read, operator=operator, scope=scope)

    def _shown(self, select: exp.Select, read: BoundFrom) -> Shown:
        """Return the columns of SELECT with their names."""

        def fields(struct: str) -> tuple[str, ...]:
            sql = f"SELECT {struct}.* FROM {LEAF}"
            return self.analyst.schema(sql, {LEAF: read.operator.schema}).names

        return list(expand_stars(with_fields(select.expressions, read.scope, fields), read.scope))

    def _plain(
        self,
        select: exp.Select,
        shown: Shown,
        operator: Operator,
        scope: Scope,
        window: Window | None,
    ) -> tuple[Operator, Shown, RowComparison]:
        """Return what a SELECT without aggregates reads, and its columns and order over that."""
        if select.args.get("having"):
            raise BadQueryError("HAVING needs an aggregate", hint="use WHERE")
        if self.emission:
            raise BadQueryError("EMIT EARLY and ALLOWED LATENESS need an aggregate over a window")
        inside = scope if window is None else within_window(scope)
        columns = _resolve_shown(shown, inside)
        aliases = Aliases(laterally(shown, inside.knows), inside.knows, inside.knows)
        compared = aliases.compared(select).written(inside.resolve)
        if window is not None:
            names = _names([*(node for _, node in columns), *compared.nodes])
            operator = bind_content(operator, window, names, self.analyst)
        return operator, columns, compared

    def _finished(
        self, select: exp.Select, operator: Operator, columns: Shown, compared: RowComparison
    ) -> Operator:
        """Return the output: columns, and what compares the rows of one window."""
        if self.emission:
            columns = _with_emission(columns)
        if not _compares(select, columns):
            return self._project(operator, columns)
        per_window = PerWindow(self._project, self._filter, self._judged, operator, self.emission)
        return per_window.of(select, columns, compared)

    def _chosen(self, operator: Operator, read: BoundFrom, meetings: Iterable[Meeting]) -> Operator:
        """Return the tuples that WHERE lets through."""
        if read.where is not None:
            operator = self._filter(operator, read.scope.resolve(read.where))
        for each in meetings:
            refuse_meeting(read.window)
            operator = each.over(operator, read.scope, self.analyst)
        return operator

    def _bind_modified(self, select: exp.Select, meetings: Iterable[Meeting]) -> Operator:
        read = self._from.of(select)
        if read.window is not None:
            raise BadQueryError(
                "modifiers compare tuples, and need no window", hint="leave the brackets out"
            )
        read = self._with_laterals(select, replace(read, operator=Ordered(read.operator, "time")))
        operator = self._chosen(read.operator, read, meetings)
        shown = self._shown(select, read)
        refuse_twins(name for name, _ in shown)
        return bind_modifiers(shown, operator, read.scope, self.analyst)

    def _filter(self, operator: Operator, condition: exp.Expr) -> Operator:
        if over := condition.find(exp.Window):
            raise BadQueryError(
                f"WHERE and HAVING cannot use {told(spark_sql(over), operator)}",
                hint="use QUALIFY, over a window",
            )
        if found := next((each for each in condition.walk() if is_aggregate(each)), None):
            raise BadQueryError(
                f"WHERE cannot use the aggregate {spark_sql(found)}", hint="use HAVING"
            )
        kept = Filter(operator, in_order(conjuncts(condition), operator.schema))
        self.analyst.schema(kept.sql([LEAF]), {LEAF: operator.schema}, meanings(operator))
        return kept

    def _judged(self, operator: Top | Distinct, meant: Mapping[str, str]) -> Operator:
        """Return the operator, or raise where its rows cannot be compared."""
        self.analyst.schema(operator.sql([LEAF]), {LEAF: operator.input.schema}, meant)
        return operator

    def _project(self, operator: Operator, columns: list[tuple[str, exp.Expr]]) -> Operator:
        refuse_twins(name for name, _ in columns)
        texts = tuple((name, spark_sql(node)) for name, node in columns)
        if texts == tuple((name, quoted(name)) for name in operator.schema.names):
            return operator
        bare = Project(operator, texts, Schema())
        schema = self.analyst.schema(bare.sql([LEAF]), {LEAF: operator.schema}, meanings(operator))
        return Project(operator, texts, schema, _kept_times(operator, texts))


def _with_emission(columns: Shown) -> Shown:
    """Return the columns and the one that says how a row came, or raise where one is called so."""
    if own := next((node for name, node in columns if name.lower() == SAYS_HOW), None):
        raise BadQueryError(
            f"EMIT EARLY and ALLOWED LATENESS add a column {SAYS_HOW}, and there is one already",
            hint=f"give yours another name, as in {SAYS_HOW} AS sent",
            place=place_of(own),
        )
    return [*columns, (SAYS_HOW, plain(EMITTED))]


def _is_distinct_content(select: exp.Select, window: Window | None, asked: list[exp.Expr]) -> bool:
    """Say whether DISTINCT asks for the different tuples of a window: that is GROUP BY ALL."""
    plainly = not select.args.get("group") and not any(map(has_aggregate, asked))
    compares = any(select.args.get(each) for each in ("order", "limit", "qualify"))
    return bool(select.args.get("distinct")) and window is not None and plainly and not compares


def _compares(select: exp.Select, columns: Shown) -> bool:
    clauses = ("distinct", "order", "limit", "offset", "qualify")
    group = select.args.get("group")
    grouped = group is not None and group.args.get("all")
    asked = [each for each in clauses if select.args.get(each)]
    if asked == ["distinct"] and grouped and not any(has_aggregate(node) for _, node in columns):
        asked = []  # the keys are different as they are
    return bool(asked) or any(node.find(exp.Window) for _, node in columns)


def _names(nodes: list[exp.Expr]) -> set[str]:
    return {c.parts[0].name.lower() for node in nodes for c in node.find_all(exp.Column)}


def _without_names(tree: exp.Expr) -> exp.Expr:
    tree = tree.copy()
    tree.set("with_", None)
    return tree


def expand_stars(nodes: Iterable[exp.Expr], scope: Scope) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the columns of a SELECT with their names, what a star stands for among them."""
    for node in nodes:
        if isinstance(node, exp.Star):
            yield from _star(node, scope, "")
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            if not scope.has(node.table):
                raise UnknownColumnError(f"no input {node.table}", place=place_of(node))
            yield from _star(node.this, scope, node.table)
        elif isinstance(node, exp.Alias):
            yield node.alias, node.this
        else:
            yield node.output_name or spark_sql(node), node


def _star(star: exp.Star, scope: Scope, qualifier: str) -> Iterator[tuple[str, exp.Expr]]:
    if any(value for name, value in star.args.items() if name != "except_"):
        raise NotYetError(f"{spark_sql(star)} over streams does not run yet", place=place_of(star))
    columns = list(scope.star(qualifier))
    left_out = [column.name.lower() for column in star.args.get("except_") or ()]
    for column, name in zip(star.args.get("except_") or (), left_out, strict=True):
        if len(column.parts) > 1:
            raise NotYetError("EXCEPT of a field of a struct does not run yet")
        if name not in {each.lower() for each, _ in columns}:
            raise UnknownColumnError(f"no column {column.name}", place=place_of(column))
    yield from ((name, node) for name, node in columns if name.lower() not in left_out)


def _resolve_shown(shown: list[tuple[str, exp.Expr]], scope: Scope) -> list[tuple[str, exp.Expr]]:
    columns: list[tuple[str, exp.Expr]] = []
    known = {name.lower() for each in scope.relations for name, _ in each.columns}
    for name, node in shown:
        earlier = [alias for alias, _ in columns if alias.lower() not in known]
        columns.append((name, scope.resolve(node, known=earlier)))
    return columns


def _kept_times(operator: Operator, texts: tuple[tuple[str, str], ...]) -> tuple[EventTime, ...]:
    return tuple(
        EventTime(name, time.offset)
        for time in operator.times
        for name, sql in texts
        if sql == quoted(time.column)
    )
