"""From a FROM clause to the operators below the SELECT."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadQueryError, NotYetError, UnknownNameError
from penstock.model.schema import Schema
from penstock.model.windows import Window
from penstock.plan.clauses import conjuncts, refuse_clauses, refuse_deep
from penstock.plan.operators import Operator, TableJoin
from penstock.plan.operators.table_join import KINDS
from penstock.plan.scope import Relation, Scope, place_of, plain, relation
from penstock.plan.sources import Analyst, Source, StreamSource, TableSource
from penstock.sql import spark_sql, window_of

Lookup = Callable[[str], Source | None]
LEAF = "input"  # the name under which the analyst sees an operator's input


@dataclass(frozen=True, slots=True)
class BoundFrom:
    """What FROM gives: rows, the names in sight, a window for an aggregate, what is left of WHERE.

    A join of streams takes conditions over both of its sides from WHERE.
    """

    operator: Operator
    scope: Scope
    window: Window | None
    where: exp.Expr | None


@dataclass(frozen=True, slots=True)
class FromBinder:
    """Binds FROM clauses; `bind` binds a SELECT that stands in one."""

    lookup: Lookup
    analyst: Analyst
    bind: Callable[[exp.Expr], Operator]

    def of(self, select: exp.Select) -> BoundFrom:
        """Return what the SELECT reads."""
        where = select.args.get("where")
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
        return BoundFrom(operator, scope, window_of(node), where.this if where else None)

    def _source(self, node: exp.Expr) -> Source:
        if isinstance(node, exp.Subquery):
            if not node.alias:
                raise BadQueryError("a SELECT in FROM needs a name", hint="write (SELECT …) AS x")
            return StreamSource(self.bind(node.this))
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise NotYetError(f"FROM {spark_sql(node)} does not run yet", place=place_of(node))
        refuse_clauses(node)
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
        refuse_deep(on)
        resolved = both.resolve(on)
        return " AND ".join(sorted(f"({spark_sql(each)})" for each in conjuncts(resolved)))
    return ""


def _fresh_names(schema: Schema, table: TableSource) -> Iterator[tuple[str, str]]:
    taken = {name.lower() for name in schema.names}
    for name in table.schema.names:
        out = name
        while out.lower() in taken:
            out = f"{table.table.lower()}_{out}"
        taken.add(out.lower())
        yield name, out
