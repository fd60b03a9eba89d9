"""The planner's twins: an analyst that needs no Spark, and a small world to bind against."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from penstock.errors import BadQueryError, UnknownColumnError
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime, Operator, Scan, table_view
from penstock.plan.operators.graph import Graph
from penstock.plan.relations.sources import NOTHING, Analyst, Source, StreamSource, TableSource
from penstock.plan.select.bind import Binder
from penstock.sql import parse_select

DOUBLES = (exp.Avg, exp.Div, exp.Variance, exp.VariancePop, exp.Stddev)


def columns(**types: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in types.items()))


TRAFFIC = Scan(
    "traffic",
    1,
    columns(
        ts="timestamp",
        car_id="string",
        kind="string",
        mph="int",
        xs="array<int>",
        st="struct<a:int,b:struct<c:int>>",
    ),
    (EventTime("ts"),),
)
SENSORS = Scan("sensors", 2, columns(at="timestamp", car_id="string", mph="int"))
SOUTH = Scan("south", 3, columns(at="timestamp", id="string", mph="int"), (EventTime("at"),))
ROADS = TableSource("roads", 4, columns(id="int", name="string", mph="int"))


@dataclass
class TwinAnalyst(Analyst):
    """Knows the names that a SELECT gives, and guesses its types; what it was asked is kept."""

    tables: dict[str, Schema] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def schema(
        self, sql: str, leaves: Mapping[str, Schema], meant: Mapping[str, str] = NOTHING
    ) -> Schema:
        self.asked.append(sql)
        known = {name.lower(): schema for name, schema in {**self.tables, **leaves}.items()}
        try:
            tree = sqlglot.parse_one(sql, read="spark")
        except ParseError as error:
            raise BadQueryError(f"the twin cannot read {sql}") from error
        return Schema(tuple(_columns(tree, known)))


def _columns(tree: exp.Expr, known: Mapping[str, Schema]) -> list[Column]:
    match tree:
        case exp.Subquery():
            return _columns(tree.this, known)
        case exp.Table():
            return list(known[tree.name.lower()])
        case exp.Union():
            left, right = _columns(tree.this, known), _columns(tree.expression, known)
            if len(left) != len(right):
                raise BadQueryError("a union of different widths")
            return left
        case _:
            return list(_selected(tree, known))


def _selected(select: exp.Expr, known: Mapping[str, Schema]) -> Iterator[Column]:
    entries = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
    inputs = [(entry.alias_or_name, _columns(entry, known)) for entry in entries]
    flat = Schema(tuple(column for _, each in inputs for column in each))
    for node in select.expressions:
        if isinstance(node, exp.Star):
            yield from flat
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            yield from dict(inputs)[node.table]
        else:
            yield Column(node.alias_or_name, _type(node.unalias(), flat))


def _type(node: exp.Expr, known: Schema) -> str:
    match node:
        case exp.Column() if not node.table:
            if (found := known.find(node.name)) is None:
                raise UnknownColumnError(f"the twin knows no {node.name}")
            return found.type
        case exp.Cast():
            return node.to.sql("spark").lower()
        case exp.Filter():
            return _type(node.this, known)
        case _ if isinstance(node, DOUBLES):
            return "double"
        case exp.Sum():
            return "bigint"
        case exp.Predicate():
            return "boolean"
        case _:
            return "int"


class World:
    """Streams, a table and the queries that were named; binds SELECTs as the system would."""

    def __init__(self) -> None:
        self.known: dict[str, Source] = {
            "traffic": StreamSource(TRAFFIC),
            "sensors": StreamSource(SENSORS),
            "south": StreamSource(SOUTH),
            "roads": ROADS,
        }
        self.analyst = TwinAnalyst({table_view("roads", 4): ROADS.schema})
        self.graph = Graph()

    def bind(self, select: str) -> Operator:
        return Binder(lambda name: self.known.get(name.lower()), self.analyst).bind(
            parse_select(select)
        )

    def name(self, name: str, select: str) -> Operator:
        """Bind a SELECT as a query that others may read."""
        root = self.bind(select)
        self.known[name] = StreamSource(root)
        self.graph = self.graph.with_query(name, root)
        return root


def bind(select: str) -> Operator:
    return World().bind(select)
