"""Punctuations: conditions of which a stream says that no more tuples fulfil them.

A punctuation travels as Spark SQL text over the columns of the stream, and on through operators
that leave its columns as they are. One whose columns are lost is forgotten: that is always safe.
"""

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import TypeMismatchError
from penstock.model.own_names import own
from penstock.model.schema import Schema, quoted
from penstock.plan.algebra.clauses import equal_columns
from penstock.plan.algebra.scope import Scope, is_bound, place_of, plain, relation
from penstock.plan.operators import (
    Filter,
    Gate,
    LateralView,
    Operator,
    Project,
    Scan,
    TableJoin,
    Take,
    WindowJoin,
    key,
    walk,
)
from penstock.plan.relations.sources import Analyst
from penstock.plan.sharing.units import Unit
from penstock.sql import parse_select, spark_sql

VIEW, HOLDS = own("punctuation"), own("holds")


def bind_punctuation(scan: Scan, condition: exp.Expr, analyst: Analyst) -> str:
    """Return the condition over the stream's columns, or raise what is wrong with it."""
    scope = Scope((relation(scan.stream, scan.schema.names, plain),))
    sql = spark_sql(scope.resolve(condition))
    found = analyst.schema(f"SELECT ({sql}) AS {HOLDS} FROM {VIEW}", {VIEW: scan.schema})
    kind = found.columns[0].type.lower()
    if kind != "boolean":
        raise TypeMismatchError(
            f"the condition of PUNCTUATE is {kind}, not boolean",
            hint="compare a column: WHERE car_id = 'x'",
            place=place_of(condition),
        )
    return sql


def carried(operator: Operator, told: Mapping[str, str]) -> str:
    """Return what holds of an operator's output, or nothing; `told` is what its leaves said."""
    if (known := told.get(key(operator))) is not None:
        return known
    match operator:
        case Filter() | Take() | Gate() | TableJoin() | LateralView():  # add columns, take none
            return carried(operator.input, told)
        case Project():
            plain_columns = {
                name: out
                for out, sql in operator.columns
                if (name := plain_column(sql, operator.input.schema)) is not None
            }
            return renamed(carried(operator.input, told), plain_columns)
        case _:
            return ""


def over_groups(unit: Unit, condition: str) -> str:
    """Return a condition on a window aggregate's input over its state, or nothing.

    Nothing where groups lie partly inside, where a window has no last moment, or where its rows
    are looked at together: then a group's windows cannot close by themselves.
    """
    aggregate = unit.aggregate
    if aggregate is None or not aggregate.grouped or aggregate.assigner.lower <= 0:
        return ""
    above = [node for node in unit.members() if aggregate in walk(node) and node != aggregate]
    if not all(isinstance(node, Filter | Project) for node in above):
        return ""
    schema = aggregate.input.schema
    columns = {plain_column(sql, schema): name for name, sql in aggregate.keys}
    known = {column: name for column, name in columns.items() if column is not None}
    named = renamed(condition, known)
    return condition if named and aggregate.raw is not None else named  # tuples keep their names


def over_partners(join: WindowJoin, place: int, condition: str) -> str:
    """Return a condition on one input of a join over what is kept of the other, or nothing.

    Nothing where rows that fulfil it may meet others, too, or say something of rows that wait for
    their window to pass.
    """
    if join.preserved:
        return ""
    own, other = join.state_schema(place), join.state_schema(1 - place)
    equal = dict(pair if place == 0 else pair[::-1] for pair in equal_columns(join.on))
    partners = {
        name: equal[out]
        for name, out in join.sides[place].columns
        if out in equal and _type_of(own, out) == _type_of(other, equal[out])
    }
    return renamed(condition, partners)


def _type_of(schema: Schema, name: str) -> str | None:
    found = schema.find(name)
    return None if found is None else found.type


def plain_column(sql: str, schema: Schema) -> str | None:
    """Return the column of the schema that the expression just is, or None."""
    return next((name for name in schema.names if sql == quoted(name)), None)


def renamed(condition: str, names: Mapping[str, str]) -> str:
    """Return the condition with other names for its columns, or nothing where one has none."""
    if not condition:
        return ""
    tree = parse_select(f"SELECT {condition}").expressions[0]
    known = {old.lower(): new for old, new in names.items()}
    for column in [each for each in tree.find_all(exp.Column) if not is_bound(each)]:
        first = column.parts[0]
        if first.name.lower() not in known:
            return ""
        first.replace(exp.to_identifier(known[first.name.lower()], quoted=True))
    return spark_sql(tree)
