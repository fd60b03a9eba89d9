"""LATERAL VIEW: from the clause to operators over what FROM gives."""

from dataclasses import replace

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.schema import Schema
from penstock.plan.algebra.clauses import refuse_deep
from penstock.plan.algebra.scope import Relation, Scope, place_of, plain
from penstock.plan.operators import LateralView, Operator
from penstock.plan.relations.bind_from import fresh_names
from penstock.plan.relations.sources import LEAF, Analyst
from penstock.sql import spark_sql


def with_laterals(
    operator: Operator, scope: Scope, laterals: list[exp.Expr], analyst: Analyst
) -> tuple[Operator, Scope]:
    """Return the tuples with what the views make of each, one view after the other."""
    for each in laterals:
        operator, scope = _with_lateral(operator, scope, each, analyst)
    return operator, scope


def _with_lateral(
    operator: Operator, scope: Scope, lateral: exp.Expr, analyst: Analyst
) -> tuple[Operator, Scope]:
    if not isinstance(lateral.this, exp.Func):
        raise BadQueryError(
            "LATERAL VIEW takes a function that makes rows",
            hint="such as LATERAL VIEW explode(xs) t AS x",
            place=place_of(lateral),
        )
    refuse_deep(lateral.this, "LATERAL VIEW")
    call = spark_sql(scope.resolve(lateral.this))
    made = analyst.schema(f"SELECT {call} FROM {LEAF}", {LEAF: operator.schema})
    alias = lateral.args.get("alias")
    given = [each.name for each in alias.args.get("columns") or ()] if alias else []
    if given and len(given) != len(made):
        raise BadQueryError(
            f"LATERAL VIEW names {len(given)} columns, and {lateral.this.name} makes {len(made)}",
            hint=f"there are: {', '.join(made.names)}",
            place=place_of(lateral),
        )
    name = alias.name if alias else ""
    if name and scope.has(name):
        raise BadQueryError(f"two inputs are called {name}", hint="give one of them AS a name")
    taken = tuple(fresh_names(operator.schema, given or made.names, name or "view"))
    bare = LateralView(operator, call, taken, bool(lateral.args.get("outer")), Schema())
    schema = analyst.schema(bare.sql([LEAF]), {LEAF: operator.schema})
    shown = Relation(name, tuple((own, plain(out)) for own, out in taken))
    return replace(bare, schema=schema), Scope((*scope.relations, shown))
