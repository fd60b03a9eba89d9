"""The statements of a script, as frozen data."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from sqlglot import exp

from penstock.errors import Place
from penstock.model.definitions import (
    EventDefinition,
    FunctionDefinition,
    Option,
    PythonFunction,
    QueryDefinition,
    StreamDefinition,
    TableDefinition,
    TypeDefinition,
)
from penstock.model.goals import Terms
from penstock.model.grids import BaseDefinition, PerspectiveDefinition
from penstock.model.rules import RuleDefinition
from penstock.sql.clauses.event_trees import WrittenEvent

Kind = Literal[
    "STREAM", "TABLE", "QUERY", "EVENT", "RULE", "TYPE", "FUNCTION", "BASE", "PERSPECTIVE"
]
Kinds = Literal[
    "STREAMS",
    "TABLES",
    "QUERIES",
    "EVENTS",
    "RULES",
    "BASES",
    "PERSPECTIVES",
    "SHARING",
    "OPERATORS",
    "STRATEGY",
    "QOS",
    "LOAD",
    "TYPES",
    "FUNCTIONS",
    "SITES",
    "PROPERTIES",
    "JOINS",
    "UNITS",
    "BUFFERS",
    "TRAINS",
    "CONTRACTS",
    "DEAD_LETTERS",
    "DEFINITIONS",
    "HISTORY",
    "LATENCIES",
    "CONNECTORS",
    "CONNECTOR_OPTIONS",
    "VIEWS",
]
Decider = Literal["STRATEGY", "BATCHING"]
Timeout = Literal["STATEMENT_TIMEOUT", "RUN_TIMEOUT"]
Form = Literal["TEXT", "JSON", "DOT"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its own text, and where in its script it begins."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class CreateStream(Statement):
    """CREATE STREAM."""

    definition: StreamDefinition
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateType(Statement):
    """CREATE STREAM TYPE."""

    definition: TypeDefinition
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateFunction(Statement):
    """CREATE FUNCTION."""

    definition: FunctionDefinition | PythonFunction
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """CREATE TABLE."""

    definition: TableDefinition
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateQuery(Statement):
    """CREATE QUERY; `select` is the tree of the definition's `select`."""

    definition: QueryDefinition
    select: exp.Query
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateEvent(Statement):
    """CREATE EVENT; `event` is the definition's `body` as a tree."""

    definition: EventDefinition
    event: WrittenEvent
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateRule(Statement):
    """CREATE RULE, with the trees of its condition and of each action's expressions."""

    definition: RuleDefinition
    condition: exp.Expr | None
    values: tuple[tuple[exp.Expr, ...], ...]
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateBase(Statement):
    """CREATE BASE."""

    definition: BaseDefinition
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreatePerspective(Statement):
    """CREATE PERSPECTIVE."""

    definition: PerspectiveDefinition
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class AlterRule(Statement):
    """ALTER RULE: ENABLE or DISABLE."""

    name: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class AlterQuery(Statement):
    """ALTER QUERY: other goals while it runs."""

    name: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class RetryRule(Statement):
    """RETRY RULE: do its dead letters again."""

    name: str


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    """DROP STREAM, TABLE, QUERY, EVENT, RULE, TYPE, FUNCTION, BASE or PERSPECTIVE."""

    kind: Kind
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class StopQuery(Statement):
    """STOP QUERY."""

    name: str


@dataclass(frozen=True, slots=True)
class OptimizeQuery(Statement):
    """OPTIMIZE QUERY: choose anew how its flow is spread."""

    name: str


@dataclass(frozen=True, slots=True)
class ResumeQuery(Statement):
    """RESUME QUERY."""

    name: str


@dataclass(frozen=True, slots=True)
class Punctuate(Statement):
    """PUNCTUATE: no more tuples for which the condition holds will come from the stream."""

    stream: str
    condition: exp.Expr


@dataclass(frozen=True, slots=True)
class Show(Statement):
    """SHOW STREAMS, QUERIES and so on: what there is of a kind.

    SHOW SITES also of one query, as JSON, or `into` a file: a picture, where its name says so.
    """

    what: Kinds
    name: str | None = None
    as_json: bool = False
    into: str | None = None


@dataclass(frozen=True, slots=True)
class Describe(Statement):
    """DESCRIBE a stream, table, query, event or rule."""

    name: str


@dataclass(frozen=True, slots=True)
class SelectOnce(Statement):
    """A one-time SELECT."""

    select: exp.Query


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """EXPLAIN a query by its name, or a query that is not there yet."""

    subject: str | SelectOnce | CreateQuery


@dataclass(frozen=True, slots=True)
class ExplainEstimate(Statement):
    """EXPLAIN ESTIMATE: what a query would cost, and how late its answers would be."""

    subject: str | SelectOnce | CreateQuery


@dataclass(frozen=True, slots=True)
class ExplainEvent(Statement):
    """EXPLAIN EVENT: how an event is detected, and who shares each part of it."""

    name: str
    form: Form = "TEXT"


@dataclass(frozen=True, slots=True)
class ExplainAll(Statement):
    """EXPLAIN ALL: the whole shared graph, drawn."""

    form: Form = "TEXT"


@dataclass(frozen=True, slots=True)
class ExplainSchedule(Statement):
    """EXPLAIN SCHEDULE: who runs next and why, or all that a simulation needs, also into a file."""

    form: Literal["TEXT", "JSON"] = "TEXT"
    into: str = ""


@dataclass(frozen=True, slots=True)
class SetTimeout(Statement):
    """SET statement_timeout or SET run_timeout; None is no limit."""

    what: Timeout
    length: timedelta | None


@dataclass(frozen=True, slots=True)
class SetJoinMemory(Statement):
    """SET join_memory: the bytes of all joins without windows together; None is no bound."""

    size: int | None


@dataclass(frozen=True, slots=True)
class SetDecider(Statement):
    """SET STRATEGY or SET BATCHING."""

    what: Decider
    name: str
    options: tuple[tuple[str, Option], ...] = ()
