"""CREATE STREAM, STREAM TYPE, TABLE, QUERY, EVENT, RULE, FUNCTION, BASE and PERSPECTIVE."""

from penstock.model.definitions import TableDefinition
from penstock.sql.clauses.columns import read_schema
from penstock.sql.clauses.connectors import read_connector
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import place_at
from penstock.sql.grammar.events import read_event
from penstock.sql.grammar.grids import read_base, read_perspective
from penstock.sql.grammar.queries import ADMISSION, read_query
from penstock.sql.grammar.rules import read_rule
from penstock.sql.grammar.statements import (
    CreateBase,
    CreateEvent,
    CreateFunction,
    CreatePerspective,
    CreateQuery,
    CreateRule,
    CreateStream,
    CreateTable,
    CreateType,
    Kind,
)
from penstock.sql.grammar.stream_functions import read_function
from penstock.sql.grammar.streams import read_stream, read_stream_type

KINDS: tuple[Kind, ...] = (
    *("STREAM", "TABLE", "QUERY", "EVENT", "RULE", "TYPE", "FUNCTION", "BASE", "PERSPECTIVE"),
)


Create = (
    CreateStream
    | CreateTable
    | CreateQuery
    | CreateEvent
    | CreateRule
    | CreateType
    | CreateFunction
    | CreateBase
    | CreatePerspective
)


def read_create(reader: Penstock.Parser) -> Create:
    """Read a whole CREATE statement."""
    start = reader.token
    reader.expect("CREATE")
    or_replace = reader.accept("OR", "REPLACE")
    kind = _kind(reader)
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if or_replace and if_not_exists:
        reader.fail(
            "OR REPLACE and IF NOT EXISTS contradict each other",
            hint="keep one of the two",
            token=start,
        )
    name = reader.name(f"the {kind.lower()}'s name")
    text, place = reader.text_from(start), place_at(reader.sql, start.start)
    match kind:
        case "STREAM":
            stream = read_stream(reader, name, text)
            return CreateStream(text, place, stream, if_not_exists, or_replace)
        case "TYPE":
            kind_of = read_stream_type(reader, name, text)
            return CreateType(text, place, kind_of, if_not_exists, or_replace)
        case "FUNCTION":
            function = read_function(reader, name, text)
            return CreateFunction(text, place, function, if_not_exists, or_replace)
        case "TABLE":
            table = _read_table(reader, name, text)
            return CreateTable(text, place, table, if_not_exists, or_replace)
        case "QUERY":
            query, select = read_query(reader, name, text)
            return CreateQuery(text, place, query, select, if_not_exists, or_replace)
        case "EVENT":
            event, written = read_event(reader, name, text)
            return CreateEvent(text, place, event, written, if_not_exists, or_replace)
        case "RULE":
            rule, (condition, values) = read_rule(reader, name, text)
            return CreateRule(text, place, rule, condition, values, if_not_exists, or_replace)
        case "BASE":
            base = read_base(reader, name, text)
            return CreateBase(text, place, base, if_not_exists, or_replace)
        case "PERSPECTIVE":
            perspective = read_perspective(reader, name, text)
            return CreatePerspective(text, place, perspective, if_not_exists, or_replace)


def _kind(reader: TokenReader) -> Kind:
    if accept_stream_type(reader):
        return "TYPE"
    if reader.accept("CONTINUOUS"):
        reader.expect("QUERY")
        return "QUERY"
    if reader.sees("FORCE") or reader.sees("OR", "WAIT"):
        reader.miss("what to create", hint=ADMISSION)
    word = reader.choose(*KINDS, what="what to create")
    return next(kind for kind in KINDS if kind == word)


def accept_stream_type(reader: TokenReader) -> bool:
    """Step over STREAM TYPE, unless a stream of the name `type` follows."""
    start = reader.mark()
    named = reader.accept("STREAM", "TYPE") and not any(map(reader.sees, ("(", "OF")))
    if named and reader.token:
        return True
    reader.back_to(start)
    return False


def _read_table(reader: TokenReader, name: str, text: str) -> TableDefinition:
    schema = read_schema(reader) if reader.sees("(") else None
    reader.expect("FROM", hint="a table comes FROM files(path => 'roads.parquet')")
    return TableDefinition(name, read_connector(reader), schema, text)
