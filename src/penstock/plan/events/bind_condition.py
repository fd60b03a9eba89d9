"""Conditions that are none: a mask or a rule's condition whose value is no boolean."""

from sqlglot import exp

from penstock.errors import TypeMismatchError
from penstock.model.schema import Schema
from penstock.plan.algebra.scope import Scope, place_of, plain, relation
from penstock.plan.operators import Operator, Project
from penstock.plan.relations.sources import LEAF, Analyst
from penstock.sql import spark_sql

CONDITIONS = (exp.Predicate, exp.Connector, exp.Not)  # of these Spark need not be asked


def refuse_value(condition: exp.Expr, over: Operator, name: str, analyst: Analyst) -> None:
    """Raise where an expression over the tuples of an operator, called `name`, is no condition."""
    if isinstance(condition.unnest(), CONDITIONS) or condition.find(exp.Query):
        return
    resolved = Scope((relation(name, over.schema.names, plain),)).resolve(condition)
    asked = Project(over, (("holds", spark_sql(resolved)),), Schema())
    kind = analyst.schema(asked.sql([LEAF]), {LEAF: over.schema}).columns[0].type.lower()
    if kind != "boolean":
        raise TypeMismatchError(
            f"{spark_sql(condition)} is {kind}, not boolean",
            hint="compare it with something, as in temp > 60",
            place=place_of(condition),
        )
