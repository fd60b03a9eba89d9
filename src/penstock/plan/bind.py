"""From a parsed SELECT to operators."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadQueryError, NotYetError, UnknownColumnError
from penstock.model.schema import Schema, quoted
from penstock.plan.aggregates import is_aggregate
from penstock.plan.bind_aggregate import bind_aggregate
from penstock.plan.bind_from import LEAF, FromBinder, Lookup
from penstock.plan.bind_modifiers import bind_modifiers, modifies
from penstock.plan.clauses import conjuncts, refuse_clauses, refuse_deep
from penstock.plan.operators import EventTime, Filter, Operator, Ordered, Project, Union
from penstock.plan.scope import Scope, place_of
from penstock.plan.sources import Analyst
from penstock.sql import spark_sql


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds SELECTs against what `lookup` knows; `analyst` tells types."""

    lookup: Lookup
    analyst: Analyst

    def bind(self, tree: exp.Expr) -> Operator:
        """Return the operators of a SELECT or of a UNION ALL of them."""
        if isinstance(tree, exp.Subquery):
            return self.bind(tree.this)
        refuse_clauses(tree)
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
        if modifies(select):
            return self._bind_modified(select)
        where, having = select.args.get("where"), select.args.get("having")
        for node in (*select.expressions, where, having, select.args.get("group")):
            refuse_deep(node)
        read = FromBinder(self.lookup, self.analyst, self.bind).of(select)
        operator, scope, window = read.operator, read.scope, read.window
        if read.where is not None:
            operator = self._filter(operator, scope.resolve(read.where))
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

    def _bind_modified(self, select: exp.Select) -> Operator:
        read = FromBinder(self.lookup, self.analyst, self.bind).of(select)
        if read.window is not None:
            raise BadQueryError(
                "modifiers compare tuples, and need no window", hint="leave the brackets out"
            )
        operator: Operator = Ordered(read.operator, "time")
        if read.where is not None:
            operator = self._filter(operator, read.scope.resolve(read.where))
        shown = list(_expand_stars(select.expressions, read.scope))
        _refuse_twins(name for name, _ in shown)
        return bind_modifiers(shown, operator, read.scope, self.analyst)

    def _filter(self, operator: Operator, condition: exp.Expr) -> Operator:
        if found := next((each for each in condition.walk() if is_aggregate(each)), None):
            raise BadQueryError(
                f"WHERE cannot use the aggregate {spark_sql(found)}", hint="use HAVING"
            )
        texts = sorted({spark_sql(each) for each in conjuncts(condition)})
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


def _branches(tree: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(tree, exp.Union):
        refuse_clauses(tree)
        if tree.args.get("distinct"):
            raise NotYetError("UNION does not run yet", hint="UNION ALL does")
        yield from _branches(tree.this)
        yield from _branches(tree.expression)
    else:
        yield tree


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
