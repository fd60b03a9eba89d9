"""[WHEN condition]: from the window to its operator."""

from dataclasses import replace

from sqlglot import exp

from penstock.errors import BadWindowError
from penstock.model.own_names import own
from penstock.model.schema import Schema
from penstock.model.windows import SemanticWindow
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.plan.algebra.folds import Fold, fold_of
from penstock.plan.algebra.mentioned import mentioned
from penstock.plan.algebra.scope import Scope, is_bound, place_of, plain
from penstock.plan.operators import Operator, WhenAggregate
from penstock.plan.relations.sources import LEAF, VALUE, Analyst
from penstock.plan.windows.asked import RequestedAggregates
from penstock.sql import parse_select, spark_sql


def make(
    window: SemanticWindow,
    below: Operator,
    asked: RequestedAggregates,
    analyst: Analyst,
) -> Operator:
    """Return the operator that answers for each group's windows, over tuples in order."""
    condition, folds = _folded(_parsed(window), below, analyst)
    raw = mentioned(asked.partials(), below.schema)
    bare = WhenAggregate(
        below, condition, folds, asked.keys, asked.aggregates, raw, Schema(), asked.sets
    )
    return replace(bare, schema=analyst.schema(bare.sql([LEAF]), {LEAF: below.schema}))


def _folded(condition: exp.Expr, below: Operator, analyst: Analyst) -> tuple[str, tuple[Fold, ...]]:
    """Return the condition as a template over the values of its aggregates, and these."""

    def type_of(sql: str) -> str:
        seen = analyst.schema(f"SELECT {sql} AS {VALUE} FROM {LEAF}", {LEAF: below.schema})
        return seen.columns[0].type

    calls: dict[str, exp.Expr] = {}
    for node in condition.walk(prune=is_aggregate):
        if is_aggregate(node):
            calls.setdefault(spark_sql(node), node)
        elif isinstance(node, exp.Column) and not is_bound(node):
            raise BadWindowError(
                f"WHEN looks at {node.name} of no certain tuple",
                hint=f"write last({node.name}), or another aggregate of it",
                place=place_of(node),
            )
    for text in calls:
        type_of(text)  # Spark judges the call as it stands
    folds = tuple(fold_of(node, type_of) for node in calls.values())
    places = {text: place for place, text in enumerate(calls)}
    marks = {place: own(f"value_{place}_") for place in places.values()}

    def replaced(node: exp.Expr) -> exp.Expr:
        return exp.var(marks[places[spark_sql(node)]]) if is_aggregate(node) else node

    text = spark_sql(condition.transform(replaced)).replace("{", "{{").replace("}", "}}")
    for place, mark in marks.items():
        text = text.replace(mark, f"{{{place}}}")
    return text, folds


def resolved(window: SemanticWindow, scope: Scope) -> SemanticWindow:
    """Return the window with its condition over the columns as they are written below it."""
    return replace(window, condition=spark_sql(scope.resolve(_tree(window))))


def _tree(window: SemanticWindow) -> exp.Expr:
    tree: exp.Expr = parse_select(f"SELECT {window.condition}").expressions[0]
    for node in tree.walk():
        node.meta.pop("line", None)  # of this text, not of the statement
    return tree


def _parsed(window: SemanticWindow) -> exp.Expr:
    """Return a condition that is resolved: what follows a column's name are fields of it."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or is_bound(node):
            return node
        column, *fields = (part.name for part in node.parts)
        names = [exp.to_identifier(name, quoted=True) for name in fields]
        return exp.Dot.build([plain(column), *names]) if names else plain(column)

    return _tree(window).transform(replaced, copy=False)
