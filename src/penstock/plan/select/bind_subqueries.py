"""SELECTs inside expressions: over tables only, since all of a table is there at any time.

A conjunct of WHERE that is [NOT] IN or [NOT] EXISTS over one table is a semi or an anti join, and
may speak of the tuple. Any other SELECT over tables stands by itself, and Spark answers it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import BadQueryError, UnknownColumnError, UnknownNameError
from penstock.model.own_names import LEFT, RIGHT
from penstock.model.schema import Schema
from penstock.model.windows import RowsWindow, Window
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.plan.algebra.clauses import conjuncts, in_order
from penstock.plan.algebra.scope import Scope, is_bound, place_of, relation, sided
from penstock.plan.operators import Operator, TableJoin, table_view
from penstock.plan.relations.bind_names import names_in_list
from penstock.plan.relations.sources import LEAF, Analyst, Lookup, TableSource
from penstock.plan.select.consumed import refuse_unread
from penstock.plan.select.once import over_views
from penstock.sql import spark_sql, window_of

JOIN = "write a join: FROM a [RANGE …] LEFT SEMI JOIN b [RANGE …] ON … (LEFT ANTI for NOT)"
# What a semi join over a table can do without: an order or equal rows change no answer.
SIMPLE = {"expressions", "from_", "where", "distinct", "order"}
PLAIN_TABLE = {"this", "alias"}


@dataclass(frozen=True, slots=True)
class Meeting:
    """A conjunct as a semi or an anti join: the tuple meets, or does not meet, rows of a table.

    `pairs` are what IN compares, the tuple's expressions with the table's; `where` is the inner
    condition.
    """

    table: TableSource
    alias: str
    pairs: tuple[tuple[exp.Expr, exp.Expr], ...]
    where: exp.Expr | None
    negated: bool

    def over(self, operator: Operator, scope: Scope, analyst: Analyst) -> Operator:
        """Return the operator with the tuples that fulfil the conjunct."""
        outer = scope.beside(LEFT)
        names = self.table.schema.names
        inner = Scope((relation(self.alias, names, lambda name: sided(RIGHT, name)),))
        equal: list[exp.Expr] = [
            exp.EQ(this=outer.resolve(mine), expression=_resolved(other, inner, outer))
            for mine, other in self.pairs
        ]
        conditions = [_resolved(each, inner, outer) for each in _parts(self.where)]
        conditions += [_or_unknown(equal)] if self.negated and equal else equal
        on = " AND ".join(f"({each})" for each in in_order(conditions)) or "TRUE"
        kind = "LEFT ANTI" if self.negated else "LEFT SEMI"
        table = self.table
        bare = TableJoin(operator, table.table, table.incarnation, kind, on, (), Schema())
        schema = analyst.schema(bare.sql([LEAF]), {LEAF: operator.schema})
        return replace(bare, schema=schema)


@dataclass(frozen=True, slots=True)
class Subqueries:
    """Takes the SELECTs out of the expressions of a SELECT; `lookup` knows the tables."""

    lookup: Lookup

    def taken(self, select: exp.Select) -> tuple[exp.Select, list[Meeting]]:
        """Return the SELECT without them: as text for Spark, or as conditions to meet a table."""
        if not any(_has(node) for node in _clauses(select)):
            return select, []
        select = select.copy()
        meetings = self._from_where(select)
        outer = {each.alias_or_name.lower() for each in _inputs(select)}
        for place, node in enumerate(select.expressions):
            if _has(node):
                name = node.alias if isinstance(node, exp.Alias) else spark_sql(node)
                alone = self._alone(node.unalias(), outer)
                select.expressions[place] = exp.alias_(alone, name, quoted=True)
        for name in ("where", "having"):
            clause = select.args.get(name)
            if clause is not None and _has(clause):
                clause.set("this", self._alone(clause.this, outer))
        return select, meetings

    def _from_where(self, select: exp.Select) -> list[Meeting]:
        where = select.args.get("where")
        if where is None or not _has(where):
            return []
        parts = [(each, self._meeting(each)) for each in conjuncts(where.this)]
        left = [each.copy() for each, meeting in parts if meeting is None]
        select.set("where", exp.Where(this=exp.and_(*left)) if left else None)
        return [meeting for _, meeting in parts if meeting is not None]

    def _meeting(self, conjunct: exp.Expr) -> Meeting | None:
        """Return the conjunct as a meeting with a table, or None."""
        negated = isinstance(conjunct, exp.Not)
        node = conjunct.this.unnest() if negated else conjunct
        query = _query_of(node)
        table = self._simple(query) if query is not None else None
        if query is None or table is None:
            return None
        alias = query.args["from_"].this.alias_or_name
        where = query.args["where"].this if query.args.get("where") else None
        if isinstance(node, exp.Exists):
            return Meeting(table, alias, (), where, negated)
        mine = list(node.this.expressions) if isinstance(node.this, exp.Tuple) else [node.this]
        others = [each.unalias() for each in query.expressions]
        if len(mine) != len(others):
            raise BadQueryError(
                f"IN compares {len(mine)} values with {len(others)} columns", place=place_of(node)
            )
        return Meeting(table, alias, tuple(zip(mine, others, strict=True)), where, negated)

    def _simple(self, query: exp.Expr) -> TableSource | None:
        """Return the one table that a SELECT reads row by row, or None."""
        if not isinstance(query, exp.Select) or _given(query) - SIMPLE:
            return None
        refuse_unread(query)
        clause = query.args.get("from_")
        table = clause.this if clause else None
        if not isinstance(table, exp.Table) or _given(table) - PLAIN_TABLE or names_in_list(table):
            return None
        found = self._table(table)
        deep = (node for each in _clauses(query) for node in each.walk())
        if any(is_aggregate(node) or isinstance(node, exp.Query) for node in deep):
            return None
        stars = any(each.find(exp.Star) for each in query.expressions)
        return None if stars and not isinstance(query.parent, exp.Exists) else found

    def _table(self, node: exp.Table) -> TableSource:
        name = ".".join(part.name for part in node.parts)
        if (found := self.lookup(name)) is None:
            raise UnknownNameError(f"no table {name}", hint="SHOW TABLES", place=place_of(node))
        if not isinstance(found, TableSource):
            raise BadQueryError(
                f"a SELECT inside an expression cannot read {name}: a stream is never all there",
                hint=JOIN,
                place=place_of(node),
            )
        return found

    def _alone(self, tree: exp.Expr, outer: set[str]) -> exp.Expr:
        """Return the expression with its SELECTs as text over the tables' views."""

        def replaced(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Any | exp.All) and _has(node.this):
                raise BadQueryError(
                    f"{node.key.upper()} over a SELECT does not run",
                    hint="write IN or EXISTS, or compare with (SELECT max(…) …)",
                    place=place_of(node),
                )
            if isinstance(node, exp.In) and node.args.get("query"):
                query = exp.var(self._text(node.args["query"].unnest(), outer))
                return exp.In(this=node.this.transform(replaced), expressions=[query])
            if _is_exists(node):
                return exp.var(f"EXISTS({self._text(node.this, outer)})")
            if isinstance(node, exp.Subquery):
                return exp.var(f"({self._text(node.unnest(), outer)})")
            return node

        return tree.transform(replaced)

    def _text(self, query: exp.Expr, outer: set[str]) -> str:
        for node in query.find_all(exp.Table, exp.Subquery):
            if window_of(node) is not None:
                raise BadQueryError(
                    "a SELECT inside an expression cannot have a window: it is for tables",
                    hint=JOIN,
                    place=place_of(node),
                )
        own = {each.alias_or_name.lower() for each in query.find_all(exp.Table, exp.Subquery)}
        for column in query.find_all(exp.Column):
            if column.table and column.table.lower() in outer - own:
                raise BadQueryError(
                    f"{spark_sql(column)} is of the tuple, and this SELECT stands by itself",
                    hint="WHERE [NOT] EXISTS or IN over one table may speak of the tuple, or write "
                    "a join with the table",
                    place=place_of(column),
                )
        tables = {
            ".".join(part.name for part in each.parts).lower(): each
            for each in query.find_all(exp.Table)
        }

        def view_of(name: str) -> str:
            found = self._table(tables[name.lower()])
            return table_view(found.table, found.incarnation)

        return over_views(query, view_of)


def refuse_meeting(window: Window | None) -> None:
    """Raise where a window has to see the tuples that do not meet the table, too."""
    if isinstance(window, RowsWindow) and window.partition_by:
        raise BadQueryError(
            "IN and EXISTS over a table cannot choose among the tuples of PARTITION BY … ROWS",
            hint="choose in a SELECT below: the window then counts the tuples that are left",
        )


def _clauses(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield where a SELECT may stand inside an expression."""
    yield from select.expressions
    yield from (each for name in ("where", "having") if (each := select.args.get(name)))


def _inputs(select: exp.Select) -> Iterator[exp.Expr]:
    if clause := select.args.get("from_"):
        yield clause.this
    yield from (join.this for join in select.args.get("joins") or ())


def _has(node: exp.Expr) -> bool:
    return node.find(exp.Query) is not None


def _given(node: exp.Expr) -> set[str]:
    return {name for name, value in node.args.items() if value}


def _query_of(node: exp.Expr) -> exp.Expr | None:
    """Return the SELECT that IN or EXISTS looks into."""
    query: exp.Expr | None = None
    if _is_exists(node):
        query = node.this
    elif isinstance(node, exp.In) and not _has(node.this):
        query = node.args.get("query")
    return None if query is None else query.unnest()


def _is_exists(node: exp.Expr) -> bool:
    """Say whether the node looks into a SELECT; exists(array, x -> …) is a function."""
    return isinstance(node, exp.Exists) and isinstance(node.this, exp.Query)


def _parts(where: exp.Expr | None) -> Iterable[exp.Expr]:
    return () if where is None else conjuncts(where)


def _or_unknown(equal: list[exp.Expr]) -> exp.Expr:
    """Return the equality as NOT IN has it: what may be equal is not outside.

    Spark knows this form of one pair, and looks values up instead of comparing all.
    """
    together = exp.and_(*equal)
    return exp.or_(together, exp.Is(this=exp.paren(together.copy()), expression=exp.Null()))


def _resolved(tree: exp.Expr, inner: Scope, outer: Scope) -> exp.Expr:
    """Return a copy in which a column is the table's, or else the tuple's."""

    def written(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or is_bound(node):
            return node
        try:
            return inner.resolve(node)
        except UnknownColumnError:
            return outer.resolve(node)

    return tree.copy().transform(written, copy=False)
