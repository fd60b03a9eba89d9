"""CREATE STREAM, CREATE TABLE, CREATE QUERY, CREATE EVENT and CREATE RULE."""

from penstock.model.definitions import TableDefinition
from penstock.sql.columns import read_schema
from penstock.sql.connectors import read_connector
from penstock.sql.dialect import Penstock
from penstock.sql.events import read_event
from penstock.sql.queries import read_query
from penstock.sql.reader import Reader
from penstock.sql.refusals import place_at
from penstock.sql.rules import read_rule
from penstock.sql.statements import (
    CreateEvent,
    CreateQuery,
    CreateRule,
    CreateStream,
    CreateTable,
    Kind,
)
from penstock.sql.streams import read_stream

KINDS: tuple[Kind, ...] = ("STREAM", "TABLE", "QUERY", "EVENT", "RULE")


Create = CreateStream | CreateTable | CreateQuery | CreateEvent | CreateRule


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


def _kind(reader: Reader) -> Kind:
    if reader.accept("CONTINUOUS"):
        reader.expect("QUERY")
        return "QUERY"
    word = reader.choose(*KINDS, what="what to create")
    return next(kind for kind in KINDS if kind == word)


def _read_table(reader: Reader, name: str, text: str) -> TableDefinition:
    schema = read_schema(reader) if reader.sees("(") else None
    reader.expect("FROM", hint="a table comes FROM files(path => 'roads.parquet')")
    return TableDefinition(name, read_connector(reader), schema, text)
