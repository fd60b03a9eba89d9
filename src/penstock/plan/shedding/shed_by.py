"""SHED BY: a query over a gate that drops what is worth least, instead of any.

Only for queries that show tuples: of what is kept by its worth no sum over all can be told, and no
bound. Their `_error` and `_shed` are the share of tuples that was dropped where theirs came by.
"""

from dataclasses import replace

from sqlglot import exp

from penstock.errors import BadQueryError, PenstockError, TypeMismatchError
from penstock.model.own_names import own
from penstock.model.schema import Schema
from penstock.plan.algebra.scope import Scope, plain, relation
from penstock.plan.operators import Filter, Gate, Operator, Project, TableJoin
from penstock.plan.relations.sources import Analyst
from penstock.plan.shedding.gated import gates_above
from penstock.sql import parse_select, spark_sql

VIEW = own("worth")
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def bind_worth(worth: str, stream: str, schema: Schema, analyst: Analyst) -> str:
    """Return what a stream's tuple is worth over its columns, or raise what is wrong with it."""
    try:
        (item,) = parse_select(f"SELECT {worth} AS worth FROM {VIEW}").selects
        assert isinstance(item, exp.Alias)  # noqa: S101  (it was written so)
        sql = spark_sql(Scope((relation(stream, schema.names, plain),)).resolve(item.this))
        found = analyst.schema(f"SELECT ({sql}) AS worth FROM {VIEW}", {VIEW: schema})
    except PenstockError as error:
        error.place = None  # it is one in our text, not in the user's
        raise
    kind = found.columns[0].type.lower()
    if not kind.startswith(NUMBERS):
        raise TypeMismatchError(
            f"SHED BY {worth} is {kind}, and what a tuple is worth is a number",
            hint="the least goes first; length(name), unix_micros(ts) or CASE … END give numbers",
        )
    return sql


def refuse_shed_by(stated: str | None, max_error: float | None, whole: str) -> None:
    """Raise where SHED BY is said of a query that sheds nothing."""
    if stated and not max_error:
        raise BadQueryError(
            "SHED BY says what goes first, and a query without max_error loses nothing",
            hint="WITH (max_error => 0.1) lets a tenth of its tuples go under overload",
        )
    if stated and whole:
        raise BadQueryError(
            f"SHED BY has no effect on this query, which sees all tuples: {whole}",
            hint="leave SHED BY out",
        )


def worth_gate(root: Operator, stated: str | None) -> Gate | None:
    """Return the gate that may drop by worth, None where there are several and nobody says so."""
    gates = gates_above(root)
    if len(gates) > 1 and stated:
        raise BadQueryError(
            "SHED BY says what the tuples of one input are worth, and this query joins several",
            hint="leave SHED BY out, or say it of a query over one of them, and join that",
        )
    return gates[0] if len(gates) == 1 else None


def by_worth(root: Operator, worth: str) -> Operator:
    """Return a query's operators with its gate dropping what is worth least."""
    match root:
        case Gate():
            return replace(root, worth=worth)
        case Filter() | Project() | TableJoin():
            return replace(root, input=by_worth(root.input, worth))
        case _:
            raise BadQueryError(
                "SHED BY is for queries that show tuples: what is kept by its worth tells nothing "
                "of the sum of all",
                hint="without SHED BY any tuples are dropped, and the answer says how wrong it is",
            )
