"""From a rule's trees to operators over its event: which tuples fire it, what actions make of them.

The operators stand over a leaf of their own, not over the event's operators: a rule is asked about
tuples that the event has given, train by train.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadQueryError, PenstockError, TypeMismatchError, shortened
from penstock.model.definitions import Expression
from penstock.model.own_names import INPUT
from penstock.model.rules import Insert, OutsideAction, RuleDefinition
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.algebra.scope import Scope, place_of, plain, relation
from penstock.plan.events.bind_condition import refuse_value
from penstock.plan.events.held import HeldAnalyst, HeldTable, held_in, with_held
from penstock.plan.operators import EventTime, Filter, Operator, Project, Scan
from penstock.plan.relations.sources import LEAF, Analyst, Lookup, StreamSource, with_name
from penstock.plan.select.bind import Binder
from penstock.plan.select.once import names_in
from penstock.sql import parse_select, spark_sql

FAMILIES = {
    **dict.fromkeys(
        ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), "number"
    ),
    **dict.fromkeys(("string", "char", "varchar"), "text"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "time"),
    **{name: name for name in ("boolean", "binary", "void")},
}
ARGUMENTS = "args"  # of a command: the option, and the column that holds them


@dataclass(frozen=True, slots=True)
class Target:
    """What an INSERT adds to: a stream or a table, its columns, and a stream's event time."""

    name: str
    schema: Schema
    time_column: str | None = None


@dataclass(frozen=True, slots=True)
class BoundRule:
    """`chosen` are the tuples of `leaf` that fire the rule, `makes` what each action makes of them.

    `reads` are the relations that the condition asks, in lower case; of these, `held` are no tables
    but what streams, queries and events hold when it is asked.
    """

    leaf: Scan
    chosen: Operator
    makes: tuple[Project | None, ...]
    reads: frozenset[str] = frozenset()
    held: tuple[HeldTable, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...] | None:
        """Return what a tuple has to fulfil, or None where that is more than conditions on it."""
        if self.chosen is self.leaf:
            return ()
        if self.held or not isinstance(self.chosen, Filter) or self.chosen.input is not self.leaf:
            return None
        return self.chosen.conditions


@dataclass(frozen=True, slots=True)
class RuleBinder:
    """Binds rules over an event; `lookup` knows what a condition may ask."""

    event: Operator
    definition: RuleDefinition
    lookup: Lookup
    analyst: Analyst

    @property
    def leaf(self) -> Scan:
        """Return what stands for the event's tuples; no two rules have the same."""
        name = f"{self.definition.event} for rule {self.definition.name}"
        return Scan(name, 0, self.event.schema, self.event.times)

    def bind(
        self,
        condition: exp.Expr | None,
        values: Sequence[Sequence[exp.Expr]],
        targets: Sequence[Target | None],
    ) -> BoundRule:
        """Return the rule's operators, or raise what is wrong with it.

        `values` are the expressions of each action, `targets` what these are added to.
        """
        leaf = self.leaf
        chosen: Operator = leaf
        held: tuple[HeldTable, ...] = ()
        if condition is not None:
            asked, held = held_in(condition, self.lookup, self.definition.name)
            chosen = self._chosen(leaf, asked, held)
        makes = tuple(
            self._made(leaf, action, trees, target)
            for action, trees, target in zip(self.definition.actions, values, targets, strict=True)
        )
        reads = frozenset() if condition is None else frozenset(names_in(condition))
        return BoundRule(leaf, chosen, makes, reads, held)

    def _chosen(self, leaf: Scan, condition: exp.Expr, held: tuple[HeldTable, ...]) -> Operator:
        known = with_name(self.lookup, self.definition.event, StreamSource(leaf))
        table = exp.Table(this=exp.to_identifier(self.definition.event, quoted=True))
        select = exp.select(exp.Star()).from_(table).where(condition.copy())
        refuse_value(condition, leaf, self.definition.event, self.analyst)
        analyst = HeldAnalyst(self.analyst, {each.view: each.schema for each in held})
        return Binder(with_held(known, held), analyst).bind(select)

    def _made(
        self,
        leaf: Scan,
        action: object,
        trees: Sequence[exp.Expr],
        target: Target | None,
    ) -> Project | None:
        match action:
            case Insert() if target is not None:
                return self._inserted(leaf, action, trees, target)
            case OutsideAction(connector):
                option = connector.option(ARGUMENTS)
                return self._arguments(leaf, option) if isinstance(option, Expression) else None
            case _:
                return None

    def _inserted(
        self, leaf: Scan, action: Insert, trees: Sequence[exp.Expr], target: Target
    ) -> Project:
        """Return the target's columns, each from its value; what has none is NULL.

        Where the event time of the target is left out, it is that of the event.
        """
        values, scope = self._expanded(leaf, trees), self._scope(leaf)
        for value in values:
            scope.resolve(value.unalias())  # an unknown column is told as one
        names = self._columns(leaf, action, target, values)
        named = dict(zip(names, (each.unalias() for each in values), strict=True))
        time = target.time_column
        if time and time.lower() not in named:
            if not leaf.times:
                raise BadQueryError(
                    f"{action.target} needs a value for its event time {time}",
                    hint=f"{self.definition.event} has none that could stand in for it",
                )
            named[time.lower()] = plain(leaf.times[0].column)
        columns = []
        for column in target.schema:
            given = named.get(column.name.lower())
            made = self._cast(leaf, scope.resolve(given), column) if given is not None else ""
            columns.append((column, made))
        texts = [(c.name, sql or f"CAST(NULL AS {c.type})") for c, sql in columns]
        return Project(leaf, tuple(texts), target.schema, _times(target))

    def _expanded(self, leaf: Scan, trees: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Return the values, with the event's columns for `*`."""
        return [
            each
            for tree in trees
            for each in ([plain(n) for n in leaf.schema.names] if _is_star(tree) else [tree])
        ]

    def _columns(
        self, leaf: Scan, action: Insert, target: Target, values: Sequence[exp.Expr]
    ) -> list[str]:
        """Return which of the target's columns the values are for, in lower case.

        By the columns that the INSERT lists, else by the values' names. RAISE goes by place, as a
        call does.
        """
        if action.columns:
            return self._listed(action, target, len(values))
        names = [name.lower() for name in target.schema.names]
        untimed = [name for name in names if name != (target.time_column or "").lower()]
        complete = (names, untimed if leaf.times else names)
        given = names if action.verb == "RAISE" else _names_of(values, target)
        for each in complete:
            if len(each) == len(values) and (action.verb == "RAISE" or set(each) == set(given)):
                return each if action.verb == "RAISE" else given
        missing = [name for name in untimed if name not in given]
        lacks = f"{', '.join(missing)} missing" if missing else f"{len(values)} values are given"
        raise BadQueryError(
            f"{target.name} has {len(names)} columns, and {lacks}",
            hint=f"its columns are {', '.join(target.schema.names)}; INSERT INTO {target.name} "
            "(column, …) SELECT leaves the others NULL",
        )

    def _listed(self, action: Insert, target: Target, count: int) -> list[str]:
        for name in action.columns:
            if target.schema.find(name) is None:
                raise BadQueryError(
                    f"{target.name} has no column {name}",
                    hint=f"its columns are {', '.join(target.schema.names)}",
                )
        if len(action.columns) != count:
            raise BadQueryError(
                f"{len(action.columns)} columns are named, and {count} values given",
                hint="each column has one value; * stands for all columns of the event",
            )
        if len({name.lower() for name in action.columns}) < count:
            raise BadQueryError("a column of the INSERT is named twice", hint="keep one of the two")
        return [name.lower() for name in action.columns]

    def _cast(self, leaf: Scan, value: exp.Expr, column: Column) -> str:
        """Return a value as a column's type, as Spark casts it."""
        sql = spark_sql(value)
        try:
            found = self._project(leaf, [(column.name, sql)]).schema.columns[0].type
            if found == column.type:
                return sql
            if not may_become(found, column.type):
                raise TypeMismatchError(
                    f"{column.name} is {column.type.upper()}, and its value is {found.upper()}",
                    hint=f"CAST({shortened(sql)} AS {column.type.upper()}) says that it is meant",
                )
            written = f"CAST({sql} AS {column.type})"
            self._project(leaf, [(column.name, written)])
        except PenstockError as error:
            error.place = error.place or place_of(value)
            raise
        return written

    def _arguments(self, leaf: Scan, option: Expression) -> Project:
        tree = parse_select(f"SELECT {option.sql} FROM {INPUT}").expressions[0]
        if not isinstance(tree, exp.Array) and tree.name.lower() != "array":
            raise BadQueryError(
                f"{ARGUMENTS} of a command is an array of its arguments",
                hint="args => array('--room', room)",
            )
        words = (spark_sql(self._scope(leaf).resolve(each)) for each in tree.expressions)
        written = ", ".join(f"CAST({each} AS STRING)" for each in words)
        return self._project(leaf, [(ARGUMENTS, f"CAST(array({written}) AS ARRAY<STRING>)")])

    def _project(self, leaf: Scan, texts: Sequence[tuple[str, str]]) -> Project:
        bare = Project(leaf, tuple(texts), Schema())
        schema = self.analyst.schema(bare.sql([LEAF]), {LEAF: leaf.schema})
        return Project(leaf, tuple(texts), schema)

    def _scope(self, leaf: Scan) -> Scope:
        return Scope((relation(self.definition.event, leaf.schema.names, plain),))


def _names_of(values: Sequence[exp.Expr], target: Target) -> list[str]:
    """Return the columns that values are named after; BadQueryError where one is for none."""
    found: list[str] = []
    for place, value in enumerate(values, 1):
        name = value.output_name if isinstance(value, exp.Alias | exp.Column | exp.Dot) else ""
        columns = f"its columns are {', '.join(target.schema.names)}"
        if target.schema.find(name) is None:
            told = f"is called {name}" if name else "has no name"
            raise BadQueryError(
                f"value {place} for {target.name} {told}, and values go by their names",
                hint=f"name it AS column, or write INSERT INTO {target.name} (column, …) SELECT …; "
                + columns,
                place=place_of(value),
            )
        if name.lower() in found:
            raise BadQueryError(f"{name} has two values", hint=columns, place=place_of(value))
        found.append(name.lower())
    return found


def may_become(found: str, wanted: str) -> bool:
    """Say whether values of a type may be stored as another without a CAST, as in ANSI SQL.

    Text is no number, time or truth by itself; nested types are left to Spark.
    """
    families = [_family(found), _family(wanted)]
    if "" in families or families[0] in ("void", families[1]):
        return True
    return families[1] == "text" and families[0] != "binary"


def _family(name: str) -> str:
    """Return the kind of type that a name means, or nothing where it is nested or unknown."""
    return FAMILIES.get(name.lower().partition("(")[0], "")


def _is_star(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Star) or (
        isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)
    )


def _times(target: Target) -> tuple[EventTime, ...]:
    return (EventTime(target.time_column),) if target.time_column else ()


def plain_picks(make: Project) -> tuple[str, ...] | None:
    """Return the leaf's columns that a projection merely shows, or None where it computes.

    What only picks columns of the right types needs no Spark.
    """
    types = {quoted(column.name): column for column in make.input.schema}
    picked = [types.get(sql) for _, sql in make.columns]
    if any(
        column is None or column.type != wanted.type
        for column, wanted in zip(picked, make.schema, strict=True)
    ):
        return None
    return tuple(column.name for column in picked if column is not None)
