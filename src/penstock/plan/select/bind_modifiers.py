"""adiff, rdiff and aslope in a SELECT: two consecutive tuples of a partition, in order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.schema import Schema, quoted
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.plan.algebra.clauses import refuse_deep
from penstock.plan.algebra.scope import Relation, Scope, place_of
from penstock.plan.operators import EventTime, Modify, Operator
from penstock.plan.operators.tuples.modify import NEW, OLD
from penstock.plan.relations.sources import LEAF, VALUE, Analyst
from penstock.sql import ModifierCall, modifier_of, spark_sql

BELOW = "put the modifier into a SELECT below: SELECT … FROM (SELECT adiff(x) AS d FROM s) AS m"


def modifies(select: exp.Select) -> bool:
    """Say whether the SELECT shows a modifier; refuse one that stands where none can be."""
    for name in ("where", "having", "group", "order", "qualify"):
        if (clause := select.args.get(name)) is not None and list(_calls(clause)):
            raise BadQueryError(
                f"{name.upper()} cannot use a modifier", hint=BELOW, place=place_of(clause)
            )
    found = [node for shown in select.expressions for node in _calls(shown)]
    if not found:
        return False
    for node in found:
        _refuse_around(node)
    if select.args.get("group") or any(
        is_aggregate(n) for e in select.expressions for n in e.walk()
    ):
        raise BadQueryError(
            "modifiers and aggregates cannot stand in one SELECT",
            hint=BELOW,
            place=place_of(found[0]),
        )
    return True


def bind_modifiers(
    shown: list[tuple[str, exp.Expr]], operator: Operator, scope: Scope, analyst: Analyst
) -> Operator:
    """Return the operator of a SELECT with modifiers over an input that is in order."""
    calls = [call for _, node in shown for call in _calls(node)]
    made = [call for node in calls if (call := modifier_of(node)) is not None]
    maker = _ModifierMaker(operator, scope, analyst, made[0].profile == "O")
    keys = maker.keys_of(made)
    columns = tuple(maker.columns(shown))
    used = _used(columns, operator)
    bare = Modify(operator, keys, columns, used, Schema())
    schema = analyst.schema(bare.sql([LEAF]), {LEAF: operator.schema})
    times = tuple(maker.times(columns, keys))
    return Modify(operator, keys, columns, used, schema, times, maker.shows_old)


@dataclass(frozen=True, slots=True)
class _ModifierMaker:
    operator: Operator
    scope: Scope
    analyst: Analyst
    shows_old: bool

    def keys_of(self, calls: list[ModifierCall]) -> tuple[str, ...]:
        """Return the one partition of all modifiers."""
        if len({call.profile for call in calls}) > 1:
            raise BadQueryError(
                "all modifiers of a SELECT have one profile", hint="write two queries"
            )
        found = [
            tuple(sorted({spark_sql(self.scope.resolve(each)) for each in call.partition_by}))
            for call in calls
        ]
        if len(set(found)) > 1:
            raise BadQueryError(
                "all modifiers of a SELECT have one PARTITION BY", hint="write two queries"
            )
        for each in calls[0].partition_by:
            refuse_deep(each, "a modifier")
        return found[0]

    def columns(self, shown: list[tuple[str, exp.Expr]]) -> Iterator[tuple[str, str]]:
        """Yield the output columns over the old and the new tuple."""
        side = _side(self.scope, OLD if self.shows_old else NEW)
        known = {name.lower() for each in self.scope.relations for name, _ in each.columns}
        earlier: list[str] = []
        for name, node in shown:
            # A Var is printed as it stands: no name in it is looked up again.
            values = {spark_sql(each): exp.var(self._value(each)) for each in _calls(node)}
            marked = _marked(node, values)
            refuse_deep(marked, "SELECT beside a modifier")
            if marked.find(exp.Window) is not None:
                raise BadQueryError("OVER beside modifiers", hint=BELOW, place=place_of(node))
            yield name, spark_sql(side.resolve(marked, known=earlier))
            if name.lower() not in known:
                earlier.append(name)

    def times(
        self, columns: tuple[tuple[str, str], ...], keys: tuple[str, ...]
    ) -> Iterator[EventTime]:
        """Yield the event times that are shown.

        The old tuple of a partition may be of any age. That of the whole stream is the last one.
        """
        if self.shows_old and keys:
            return
        side = OLD if self.shows_old else NEW
        for time in self.operator.times:
            written = spark_sql(_qualified(side, time.column))
            yield from (EventTime(name, time.offset) for name, sql in columns if sql == written)

    def _value(self, node: exp.Expr) -> str:
        """Return a modifier's SQL over the old and the new tuple."""
        call = modifier_of(node)
        assert call is not None  # noqa: S101  (it was found as one)
        for each in (*call.arguments, *([call.pseudo] if call.pseudo else [])):
            refuse_deep(each, "a modifier")
        match call.name:
            case "adiff":
                return self._difference(call.arguments[0])
            case "rdiff":
                (x,) = call.arguments
                return self._ratio(self._difference(x), self._written(OLD, x), call)
            case "aslope":
                y, x = call.arguments
                return self._ratio(self._difference(y), self._run_of(x), call)

    def _written(self, side: str, node: exp.Expr) -> str:
        return spark_sql(_side(self.scope, side).resolve(node))

    def _difference(self, x: exp.Expr) -> str:
        return f"(({self._written(NEW, x)}) - ({self._written(OLD, x)}))"

    def _run_of(self, x: exp.Expr) -> str:
        """Return how far x went; a time goes by seconds."""
        sql = f"SELECT {spark_sql(self.scope.resolve(x))} AS {VALUE} FROM {LEAF}"
        kind = self.analyst.schema(sql, {LEAF: self.operator.schema}).columns[0].type
        if not kind.startswith("timestamp"):
            return self._difference(x)
        new, old = (
            f"unix_micros(CAST({self._written(side, x)} AS TIMESTAMP))" for side in (NEW, OLD)
        )
        return f"(({new} - {old}) / 1000000)"

    def _ratio(self, above: str, below: str, call: ModifierCall) -> str:
        """Return the ratio as a double; a denominator of zero is replaced, or gives NULL."""
        divisor = f"CAST({below} AS DOUBLE)"
        if call.pseudo is not None:
            pseudo = self._written(OLD if self.shows_old else NEW, call.pseudo)
            divisor = f"CASE WHEN {divisor} = 0 THEN CAST({pseudo} AS DOUBLE) ELSE {divisor} END"
        return f"(CAST({above} AS DOUBLE) / nullif({divisor}, 0D))"


def _calls(node: exp.Expr) -> Iterator[exp.Expr]:
    return (each for each in node.walk() if modifier_of(each) is not None)


def _refuse_around(node: exp.Expr) -> None:
    """Refuse a modifier inside a modifier or an aggregate."""
    above = node.parent
    while above is not None and not isinstance(above, exp.Select):
        if modifier_of(above) is not None or is_aggregate(above):
            raise BadQueryError(
                f"{spark_sql(node)} cannot stand inside {spark_sql(above)}",
                hint=BELOW,
                place=place_of(node),
            )
        above = above.parent


def _marked(tree: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a copy with marks in the modifiers' places, which resolving leaves alone."""

    def replace(node: exp.Expr) -> exp.Expr:
        return values[spark_sql(node)].copy() if modifier_of(node) is not None else node

    return tree.copy().transform(replace, copy=False)


def _side(scope: Scope, side: str) -> Scope:
    """Return the names in sight as fields of the old or of the new tuple."""
    return Scope(
        tuple(
            Relation(each.alias, tuple((n, _qualified(side, c.name)) for n, c in each.columns))
            for each in scope.relations
        )
    )


def _qualified(side: str, name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True), table=side)


def _used(columns: tuple[tuple[str, str], ...], operator: Operator) -> tuple[str, ...]:
    """Return the input's columns that the output needs, and its event time."""
    texts = [sql for _, sql in columns]
    times = {time.column for time in operator.times}
    return tuple(
        name
        for name in operator.schema.names
        if name in times
        or any(f"{side}.{quoted(name)}" in sql for sql in texts for side in (NEW, OLD))
    )
