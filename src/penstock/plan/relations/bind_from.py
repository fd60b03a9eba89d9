"""From a FROM clause to the operators below the SELECT."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import (
    BadGridError,
    BadQueryError,
    NotYetError,
    PenstockError,
    UnknownNameError,
)
from penstock.model.definitions import WHATEVER, JoinMode, Keeping
from penstock.model.events import Mode
from penstock.model.grids import NO_WINDOW
from penstock.model.own_names import LEFT, RIGHT
from penstock.model.schema import Schema
from penstock.model.windows import Window
from penstock.plan.algebra.clauses import conjuncts, in_order, refuse_deep
from penstock.plan.algebra.scope import Relation, Scope, place_of, plain, relation, sided
from penstock.plan.operators import Operator, TableJoin
from penstock.plan.operators.joins.table_join import KINDS
from penstock.plan.relations.bind_function import FunctionBinder
from penstock.plan.relations.bind_join import (
    INNER,
    JoinBinder,
    Joined,
    JoinedStream,
    Where,
    begun,
    check_windows,
    join_kind,
    merged,
    refuse_namesakes,
)
from penstock.plan.relations.bind_names import names_in_list, renamed, without_natural
from penstock.plan.relations.bind_oblivious_join import Keys, bind_oblivious, oblivious_keys
from penstock.plan.relations.bind_whole_join import WholeJoin, bind_whole, takes_whole
from penstock.plan.relations.constants import constant_source, is_constant
from penstock.plan.relations.meanings import meanings
from penstock.plan.relations.sources import (
    LEAF,
    Analyst,
    CellSource,
    EventSource,
    Lookup,
    StreamSource,
    TableSource,
)
from penstock.sql import clip_of, context_of, spark_sql, window_of

Side = tuple[StreamSource | TableSource, exp.Expr, exp.Join | None]


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
    mode: JoinMode = "recompute"
    functions: FunctionBinder | None = None
    keeping: Keeping = WHATEVER

    def of(self, select: exp.Select) -> BoundFrom:
        """Return what the SELECT reads."""
        if not select.args.get("from_"):
            raise BadQueryError("a standing query needs FROM a stream")
        select = named_inputs(select)
        where = select.args.get("where")
        sources = [self._source(node) for node, _ in _inputs(select)]
        select = without_natural(select, [_columns(each) for each in sources])
        inputs = zip(sources, _inputs(select), strict=True)
        sides = [(source, node, join) for source, (node, join) in inputs]
        streams = [(s, node, join) for s, node, join in sides if isinstance(s, StreamSource)]
        if not streams:
            raise BadQueryError(
                "a standing query needs FROM a stream; these are only tables",
                hint="leave CREATE QUERY … AS out for a one-time SELECT",
            )
        if any(window_of(node) for table, node, _ in sides if isinstance(table, TableSource)):
            raise BadQueryError("a table has no window: all of it is there at any time")
        if len(streams) > 1:
            return self._of_several(select, sides)
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

    def _of_several(self, select: exp.Select, sides: Sequence[Side]) -> BoundFrom:
        """Return a join of streams, and of tables with them."""
        if laterals := select.args.get("laterals"):
            raise BadQueryError(
                "LATERAL VIEW over a join of streams",
                hint="join them below: FROM (SELECT … FROM a JOIN b …) j LATERAL VIEW …",
                place=place_of(laterals[0]),
            )
        known = Scope(())
        for source, node, join in sides:
            named = relation(_alias(node), _columns(source), plain)
            known = Scope(merged(join, (*known.relations, named)))
        refuse_namesakes(known)
        condition = select.args.get("where")
        where = Where.of(condition.this if condition else None, known)
        # Only where nothing is preserved does WHERE say which tuples may meet.
        usable = where if all(join_kind(j) in INNER for _, _, j in sides) else Where()
        entries = [
            JoinedStream(source.operator, _alias(node), window_of(node), join)
            for source, node, join in sides
            if isinstance(source, StreamSource)
        ]
        check_windows(entries, select)
        if (keys := oblivious_keys(entries, usable)) is not None:
            return self._whole(
                sides,
                len(entries),
                where,
                lambda: self._oblivious(select, entries, usable, keys),
            )
        if takes_whole(entries):
            return self._whole(
                sides,
                len(entries),
                where,
                lambda: bind_whole(select, entries, usable, self.analyst, self.mode),
            )
        joins = JoinBinder(select, self.analyst, usable)
        entries = [joins.filtered(entry) for entry in entries]
        joined, before = None, []
        for source, node, join in sides:
            if isinstance(source, TableSource):
                if joined is None:
                    before.append((source, node, join))
                else:
                    joined = self._with_table(joined, source, node, join, swapped=False)
                continue
            entry = entries.pop(0)
            if joined is not None:
                joined = joins.join(joined, entry, last=not entries)
                continue
            joined = begun(entry)
            for table, name, by in before:
                joined = self._with_table(joined, table, name, by or join, swapped=by is None)
        assert joined is not None  # noqa: S101  (there are streams)
        return BoundFrom(joined.operator, joined.scope, None, where.without(joins.taken))

    def _oblivious(
        self, select: exp.Select, entries: Sequence[JoinedStream], where: Where, keys: Keys
    ) -> WholeJoin:
        """Return a join without windows; what WHERE says of one stream alone comes before it."""
        filters = JoinBinder(select, self.analyst, where)
        entries = [filters.filtered(entry) for entry in entries]
        bound = (where.beside(filters.taken), self.analyst, self.keeping)
        whole = bind_oblivious(select, entries, keys, bound)
        return replace(whole, taken=[*filters.taken, *whole.taken])

    def _whole(
        self, sides: Sequence[Side], streams: int, where: Where, bind: Callable[[], WholeJoin]
    ) -> BoundFrom:
        """Return a join of all streams at once, and then of the tables.

        A table before would change how many tuples a window counts.
        """
        tables = [each for each in sides if isinstance(each[0], TableSource)]
        last = all(isinstance(each[0], TableSource) for each in sides[streams:])
        if not last and any(join_kind(join) not in INNER for _, _, join in sides):
            raise BadQueryError(
                "a table among streams that an outer join takes all at once",
                hint="write the table after all streams, or join it in a SELECT above",
            )
        whole = bind()
        operator, scope = whole.operator, whole.scope
        for table, node, join in tables:
            assert isinstance(table, TableSource)  # noqa: S101  (looked at above)
            operator, scope = self._join_table(
                operator, scope, table, _alias(node), join, swapped=False
            )
        return BoundFrom(operator, scope, None, where.without(whole.taken))

    def _with_table(
        self,
        joined: Joined,
        table: TableSource,
        node: exp.Expr,
        join: exp.Join | None,
        *,
        swapped: bool,
    ) -> Joined:
        operator, scope = self._join_table(
            joined.operator, joined.scope, table, _alias(node), join, swapped=swapped
        )
        return replace(joined, operator=operator, scope=scope)

    def _source(self, node: exp.Expr) -> StreamSource | TableSource:
        if is_constant(node):
            inner = node.this if isinstance(node, exp.Subquery) else node
            return constant_source(inner, node, self.analyst)
        if isinstance(node, exp.Subquery):
            return StreamSource(renamed(self.bind(node.this), names_in_list(node)))
        if self.functions is not None and isinstance(node, exp.Table):
            made = self.functions.of(node, self._source)
            if made is not None:
                return StreamSource(renamed(made, names_in_list(node)))
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise NotYetError(f"FROM {spark_sql(node)} does not run yet", place=place_of(node))
        name = ".".join(part.name for part in node.parts)
        source = self.lookup(name)
        if source is None:
            raise UnknownNameError(
                f"no stream, table, query or event {name}",
                hint="SHOW STREAMS, SHOW TABLES, SHOW QUERIES and SHOW EVENTS list what there is",
                place=place_of(node),
            )
        names, context = names_in_list(node), context_of(node)
        if isinstance(source, EventSource):
            source = StreamSource(source.read(context or Mode.RECENT))
        elif context is not None:
            raise BadQueryError(
                f"{name} is no event: its rows are the same in every CONTEXT",
                hint="leave [CONTEXT …] out",
                place=place_of(node),
            )
        if isinstance(source, CellSource):
            with at(node):
                source = StreamSource(source.read(clip_of(node) or NO_WINDOW))
        elif clip_of(node) is not None:
            raise BadGridError(
                f"{name} is no base or perspective, so it has no cells",
                hint="WITHIN is a perspective's window; of rows, ask by WHERE",
                place=place_of(node),
            )
        if isinstance(source, StreamSource):
            return StreamSource(renamed(source.operator, names))
        if names:
            raise BadQueryError(
                f"the columns of the table {name} keep their names",
                hint="name them in SELECT",
                place=place_of(names[0]),
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
        right = relation(alias, table.schema.names, lambda name: sided(RIGHT, name))
        left = scope.beside(LEFT)
        both = Scope((*left.relations, right))
        on = _join_condition(join, both, left, right)
        if not on and kind not in ("CROSS", "INNER"):
            raise BadQueryError(f"{kind} JOIN needs ON")
        semi = kind in ("LEFT SEMI", "LEFT ANTI")
        names = table.schema.names
        taken = () if semi else tuple(fresh_names(operator.schema, names, table.table.lower()))
        name, version, rows = table.table, table.incarnation, table.rows
        bare = TableJoin(operator, name, version, kind, on, taken, Schema(), rows)
        # Only the ON can be wrong here; the columns follow from both sides.
        leaves = {LEAF: operator.schema}
        schema = self.analyst.schema(bare.sql([LEAF]), leaves, meanings(bare))
        joined = replace(bare, schema=schema)
        if semi:
            return joined, scope
        named = Relation(alias, tuple((name, plain(out)) for name, out in taken))
        return joined, Scope(merged(join, (*scope.relations, named)))


@contextmanager
def at(node: exp.Expr) -> Iterator[None]:
    """Give what is wrong with an entry of FROM its place."""
    try:
        yield
    except PenstockError as error:
        error.place = error.place or place_of(node)
        raise


def _inputs(select: exp.Select) -> Iterator[tuple[exp.Expr, exp.Join | None]]:
    yield select.args["from_"].this, None
    yield from ((join.this, join) for join in select.args.get("joins") or ())


def named_inputs(select: exp.Select) -> exp.Select:
    """Return the SELECT with a table in brackets as itself, and a name for every subquery."""
    if not any(isinstance(node, exp.Subquery) for node, _ in _inputs(select)):
        return select
    select = select.copy()
    for place, (node, _) in enumerate(list(_inputs(select)), 1):
        if isinstance(node, exp.Subquery) and isinstance(table := node.unnest(), exp.Table):
            if alias := node.args.get("alias"):
                table.set("alias", alias)
            node.replace(table)
        elif isinstance(node, exp.Subquery) and not node.alias:
            # No name of the user's has a blank, unless in backticks; errors can repeat it.
            name = exp.to_identifier(f"subquery {place}", quoted=True)
            node.set("alias", exp.TableAlias(this=name))
    return select


def _columns(source: StreamSource | TableSource) -> tuple[str, ...]:
    schema = source.schema if isinstance(source, TableSource) else source.operator.schema
    return schema.names


def _alias(node: exp.Expr) -> str:
    return node.alias_or_name


def _join_kind(join: exp.Join | None, *, swapped: bool) -> str:
    wanted = join_kind(join)
    if wanted not in KINDS or (swapped and wanted not in ("INNER", "CROSS")):
        raise BadQueryError(
            f"{wanted} JOIN cannot keep a table's rows for a stream that never ends",
            hint="put the stream left and use INNER, LEFT, LEFT SEMI or LEFT ANTI",
            place=None if join is None else place_of(join),
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
        refuse_deep(on, "ON")
        resolved = both.resolve(on)
        return " AND ".join(f"({each})" for each in in_order(conjuncts(resolved)))
    return ""


def fresh_names(schema: Schema, names: Iterable[str], before: str) -> Iterator[tuple[str, str]]:
    """Yield names, each with the one that it has beside the columns of a schema."""
    taken = {name.lower() for name in schema.names}
    for name in names:
        out = name
        while out.lower() in taken:
            out = f"{before}_{out}"
        taken.add(out.lower())
        yield name, out
