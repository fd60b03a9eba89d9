"""From a parsed SELECT to operators."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadQueryError, NotYetError, UnknownColumnError, UnknownNameError
from penstock.model.schema import Schema, quoted
from penstock.model.windows import Window
from penstock.plan.aggregates import is_aggregate
from penstock.plan.bind_aggregate import bind_aggregate
from penstock.plan.operators import EventTime, Filter, Operator, Project, TableJoin, Union
from penstock.plan.operators.table_join import KINDS
from penstock.plan.scope import Relation, Scope, place_of, plain, relation
from penstock.plan.sources import Analyst, Source, StreamSource, TableSource
from penstock.sql import spark_sql, window_of

Lookup = Callable[[str], Source | None]
LEAF = "input"  # the name under which the analyst sees an operator's input

# Clauses that need more than one tuple's neighbourhood; each waits for its operator.
NOT_YET = {
    "with_": "WITH",
    "with": "WITH",
    "distinct": "SELECT DISTINCT",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "laterals": "LATERAL VIEW",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
}


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds SELECTs against what `lookup` knows; `analyst` tells types."""

    lookup: Lookup
    analyst: Analyst

    def bind(self, tree: exp.Expr) -> Operator:
        """Return the operators of a SELECT or of a UNION ALL of them."""
        if isinstance(tree, exp.Subquery):
            return self.bind(tree.this)
        _refuse_clauses(tree)
        if isinstance(tree, exp.Union):
            return self._bind_union(tree)
        if not isinstance(tree, exp.Select):
            raise NotYetError(f"{tree.key.upper()} over streams does not run yet")
        return self._bind_select(tree)

    def _bind_union(self, tree: exp.Union) -> Operator:
        if tree.args.get("distinct"):
            raise NotYetError("UNION does not run yet", hint="UNION ALL does")
        inputs = tuple(self.bind(each) for each in _branches(tree))
        leaves = {f"{LEAF}{place}": each.schema for place, each in enumerate(inputs)}
        sql = Union(inputs, Schema()).sql(list(leaves))
        schema = self.analyst.schema(sql, leaves)
        return Union(inputs, schema, _common_times(inputs, schema))

    def _bind_select(self, select: exp.Select) -> Operator:
        where, having = select.args.get("where"), select.args.get("having")
        for node in (*select.expressions, where, having, select.args.get("group")):
            _refuse_deep(node)
        operator, scope, window = self._bind_from(select)
        if where:
            operator = self._filter(operator, scope.resolve(where.this))
        shown = list(_expand_stars(select.expressions, scope))
        asked = [node for _, node in shown] + ([having.this] if having else [])
        if select.args.get("group") or any(map(_has_aggregate, asked)):
            bound = bind_aggregate(select, shown, operator, scope, window, self.analyst)
            operator, columns = bound.operator, bound.columns
            if bound.having is not None:
                operator = self._filter(operator, bound.having)
        else:
            if window is not None:
                raise BadQueryError(
                    "a window needs an aggregate to compute over it",
                    hint="leave the brackets out, or aggregate",
                )
            if having:
                raise BadQueryError("HAVING needs an aggregate", hint="use WHERE")
            columns = _resolve_shown(shown, scope)
        return self._project(operator, columns)

    def _filter(self, operator: Operator, condition: exp.Expr) -> Operator:
        if found := next((each for each in condition.walk() if is_aggregate(each)), None):
            raise BadQueryError(
                f"WHERE cannot use the aggregate {spark_sql(found)}", hint="use HAVING"
            )
        texts = sorted({spark_sql(each) for each in _conjuncts(condition)})
        kept = Filter(operator, tuple(texts))
        self.analyst.schema(kept.sql([LEAF]), {LEAF: operator.schema})
        return kept

    def _project(self, operator: Operator, columns: list[tuple[str, exp.Expr]]) -> Operator:
        _refuse_twins(name for name, _ in columns)
        texts = tuple((name, spark_sql(node)) for name, node in columns)
        if texts == tuple((name, quoted(name)) for name in operator.schema.names):
            return operator
        bare = Project(operator, texts, Schema())
        schema = self.analyst.schema(bare.sql([LEAF]), {LEAF: operator.schema})
        return Project(operator, texts, schema, _kept_times(operator, texts))

    def _bind_from(self, select: exp.Select) -> tuple[Operator, Scope, Window | None]:
        clause = select.args.get("from_") or select.args.get("from")
        if clause is None:
            raise BadQueryError("a standing query needs FROM a stream")
        entries = [(clause.this, None), *((j.this, j) for j in select.args.get("joins") or ())]
        sides = [(self._source(node), node, join) for node, join in entries]
        streams = [(s, node, join) for s, node, join in sides if isinstance(s, StreamSource)]
        if not streams:
            raise BadQueryError(
                "a standing query needs FROM a stream; these are only tables",
                hint="leave CREATE QUERY … AS out for a one-time SELECT",
            )
        if len(streams) > 1:
            raise NotYetError("a join of streams does not run yet", hint="a join with a table does")
        source, node, _ = streams[0]
        operator = source.operator
        scope = Scope((relation(_alias(node), operator.schema.names, plain),))
        first = sides[0][0]
        for table, entry, join in sides:
            if isinstance(table, TableSource):
                by = join or streams[0][2]
                operator, scope = self._join_table(
                    operator, scope, table, _alias(entry), by, swapped=table is first
                )
        return operator, scope, window_of(node) if isinstance(node, exp.Table) else None

    def _source(self, node: exp.Expr) -> Source:
        if isinstance(node, exp.Subquery):
            if not node.alias:
                raise BadQueryError("a SELECT in FROM needs a name", hint="write (SELECT …) AS x")
            return StreamSource(self.bind(node.this))
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise NotYetError(f"FROM {spark_sql(node)} does not run yet", place=place_of(node))
        _refuse_clauses(node)
        name = ".".join(part.name for part in node.parts)
        source = self.lookup(name)
        if source is None:
            raise UnknownNameError(
                f"no stream, table or query {name}",
                hint="SHOW STREAMS, SHOW TABLES and SHOW QUERIES list what there is",
                place=place_of(node),
            )
        return source

    def _join_table(
        self,
        operator: Operator,
        scope: Scope,
        table: TableSource,
        alias: str,
        join: exp.Join | None,
        *,
        swapped: bool,
    ) -> tuple[Operator, Scope]:
        kind = _join_kind(join, swapped=swapped)
        if scope.has(alias):
            raise BadQueryError(f"two inputs are called {alias}", hint="give one of them AS a name")
        right = relation(alias, table.schema.names, lambda name: _qualified("r", name))
        left = Scope(
            tuple(
                Relation(each.alias, tuple((n, _qualified("l", c.name)) for n, c in each.columns))
                for each in scope.relations
            )
        )
        both = Scope((*left.relations, right))
        on = _join_condition(join, both, left, right)
        if not on and kind not in ("CROSS", "INNER"):
            raise BadQueryError(f"{kind} JOIN needs ON")
        semi = kind in ("LEFT SEMI", "LEFT ANTI")
        taken = () if semi else tuple(_fresh_names(operator.schema, table))
        bare = TableJoin(operator, table.table, table.incarnation, kind, on, taken, Schema())
        # Only the ON can be wrong here; the columns follow from both sides.
        schema = self.analyst.schema(bare.sql([LEAF]), {LEAF: operator.schema})
        joined = TableJoin(operator, table.table, table.incarnation, kind, on, taken, schema)
        if semi:
            return joined, scope
        named = Relation(alias, tuple((name, plain(out)) for name, out in taken))
        return joined, Scope((*scope.relations, named))


def _branches(tree: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(tree, exp.Union):
        _refuse_clauses(tree)
        if tree.args.get("distinct"):
            raise NotYetError("UNION does not run yet", hint="UNION ALL does")
        yield from _branches(tree.this)
        yield from _branches(tree.expression)
    else:
        yield tree


def _refuse_clauses(tree: exp.Expr) -> None:
    for name, shown in NOT_YET.items():
        if name == "distinct" and isinstance(tree, exp.SetOperation):
            continue  # every UNION has one of the two; which one is looked at later
        if tree.args.get(name):
            raise NotYetError(f"{shown} over streams does not run yet", place=place_of(tree))


def _has_aggregate(node: exp.Expr) -> bool:
    return any(is_aggregate(each) for each in node.walk())


def _expand_stars(nodes: Iterable[exp.Expr], scope: Scope) -> Iterator[tuple[str, exp.Expr]]:
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
        raise NotYetError(f"{spark_sql(star)} over streams does not run yet")
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


def _refuse_deep(node: exp.Expr | None) -> None:
    if node is None:
        return
    if node.find(exp.Window):
        raise NotYetError(f"{spark_sql(node)}: OVER does not run over streams")
    if node.find(exp.Subquery, exp.Select):
        raise NotYetError(f"{spark_sql(node)}: a SELECT inside an expression does not run yet")


def _refuse_twins(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise BadQueryError(f"two columns are called {name}", hint="give one of them AS a name")
        seen.add(name.lower())


def _kept_times(operator: Operator, texts: tuple[tuple[str, str], ...]) -> tuple[EventTime, ...]:
    return tuple(
        EventTime(name, time.offset)
        for time in operator.times
        for name, sql in texts
        if sql == quoted(time.column)
    )


def _common_times(inputs: tuple[Operator, ...], schema: Schema) -> tuple[EventTime, ...]:
    """Return the event time that all inputs have in the same place, if there is one."""
    for time in inputs[0].times:
        place = inputs[0].schema.names.index(time.column)
        if all(
            any(each.schema.names.index(t.column) == place for t in each.times) for each in inputs
        ):
            return (EventTime(schema.names[place]),)
    return ()


def _alias(node: exp.Expr) -> str:
    return node.alias_or_name


def _qualified(side: str, name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True), table=side)


def _join_kind(join: exp.Join | None, *, swapped: bool) -> str:
    if join is None:
        return "CROSS"
    side, kind = join.side.upper(), join.kind.upper()
    if join.args.get("method"):
        raise NotYetError(f"{join.args['method']} JOIN does not run", hint="write ON")
    wanted = "LEFT " + kind if kind in ("SEMI", "ANTI") else side or kind or "INNER"
    if wanted == "INNER" and not (join.args.get("on") or join.args.get("using")):
        wanted = "CROSS"
    if wanted not in KINDS or (swapped and wanted not in ("INNER", "CROSS")):
        raise BadQueryError(
            f"{wanted} JOIN cannot keep a table's rows for a stream that never ends",
            hint="put the stream left and use INNER, LEFT, LEFT SEMI or LEFT ANTI",
        )
    return wanted


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what AND joins, however it is bracketed."""
    waiting = [condition]
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, exp.And):
            waiting += [node.left, node.right]
        else:
            yield node


def _join_condition(join: exp.Join | None, both: Scope, left: Scope, right: Relation) -> str:
    if join is None:
        return ""
    if using := join.args.get("using"):
        pairs = []
        for column in using:
            mine = left.resolve(exp.column(column.name))
            other = Scope((right,)).resolve(exp.column(column.name))
            pairs.append(f"{spark_sql(mine)} = {spark_sql(other)}")
        return " AND ".join(sorted(pairs))
    if on := join.args.get("on"):
        _refuse_deep(on)
        resolved = both.resolve(on)
        return " AND ".join(sorted(f"({spark_sql(each)})" for each in _conjuncts(resolved)))
    return ""


def _fresh_names(schema: Schema, table: TableSource) -> Iterator[tuple[str, str]]:
    taken = {name.lower() for name in schema.names}
    for name in table.schema.names:
        out = name
        while out.lower() in taken:
            out = f"{table.table.lower()}_{out}"
        taken.add(out.lower())
        yield name, out
