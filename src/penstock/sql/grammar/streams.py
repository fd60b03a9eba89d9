"""What follows CREATE STREAM and its name."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from penstock.errors import BadOptionError, TypeMismatchError, UnknownColumnError, shortened
from penstock.model.definitions import ARRIVAL, AdaptiveSlack, StreamDefinition, TypeDefinition
from penstock.model.key_order import KeyOrder
from penstock.model.schema import Schema
from penstock.sql.clauses.columns import read_schema
from penstock.sql.clauses.connectors import read_connector
from penstock.sql.clauses.shed_by import read_shed_by
from penstock.sql.dialect.intervals import duration, duration_sql, positive_duration
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import near_miss

ZERO = timedelta(0)
FIGURES = ("SCRAMBLED", "RATE", "DUPLICATES")
ORDERING = ("tinyint", "smallint", "int", "bigint", "date", "timestamp")


def read_stream(reader: TokenReader, name: str, text: str) -> StreamDefinition:
    """Read a stream's columns, and its clauses in any order."""
    of = reader.name("the stream's type") if reader.accept("OF") else None
    schema = Schema() if of else read_schema(reader)
    given: dict[str, Any] = {}
    while reader.token:
        token = reader.token
        clause = reader.choose(*CLAUSES, what="a clause of the stream")
        if clause in given:
            reader.fail(f"{clause} is given twice", hint="keep one of the two", token=token)
        given[clause] = CLAUSES[clause](reader, schema)
    if "FROM" not in given:
        reader.miss("FROM", hint="a stream comes FROM files(path => 'data', format => 'json')")
    definition = StreamDefinition(
        name,
        schema,
        given["FROM"],
        time_column=given.get("TIMESTAMP"),
        slack=given.get("SLACK", ZERO),
        valid_for=given.get("VALID"),
        text=text,
        archive_for=given.get("ARCHIVE"),
        idle_after=given.get("IDLE", (None, False))[0],
        idle_by_clock=given.get("IDLE", (None, False))[1],
        of=of,
        shed_by=given.get("SHED"),
        ordered_by=given.get("ORDERED", ()),
    )
    is_stamped = definition.time_column == ARRIVAL and schema.columns and not schema.find(ARRIVAL)
    return definition.stamped() if is_stamped else definition


def read_stream_type(reader: TokenReader, name: str, text: str) -> TypeDefinition:
    """Read a stream type's columns, and the type that it is under."""
    schema = read_schema(reader) if reader.sees("(") else Schema()
    under = reader.name("the type above") if reader.accept("UNDER") else ""
    if not schema.columns and not under:
        reader.miss("(", hint="CREATE STREAM TYPE radio (ts TIMESTAMP, x COMPLEX VECTOR)")
    return TypeDefinition(name, schema, under, text)


def _time_column(reader: TokenReader, schema: Schema) -> str:
    reader.expect("BY")
    token = reader.token
    name = reader.name("a column, or ARRIVAL")
    if is_arrival(name, schema):
        return ARRIVAL
    with reader.placed(token):
        return time_column(name, schema) if schema.columns else name


def is_arrival(name: str, schema: Schema) -> bool:
    """Say whether TIMESTAMP BY asks for a stamp; a column that is called so goes before."""
    return name.lower() == ARRIVAL and schema.find(ARRIVAL) is None


def time_column(name: str, schema: Schema) -> str:
    """Return the column that TIMESTAMP BY names, or raise what is wrong with it."""
    column = schema.find(name)
    if column is None:
        hint = near_miss(name, schema.names) or f"it has {', '.join(schema.names)}"
        raise UnknownColumnError(f"the stream has no column {name}", hint=hint)
    if column.type != "timestamp":
        raise TypeMismatchError(
            f"{column.name} is of type {column.type}, and event time is a timestamp",
            hint=f"declare it {column.name} TIMESTAMP",
        )
    return column.name


def _ordered(reader: TokenReader, schema: Schema) -> tuple[KeyOrder, ...]:
    """Read ORDERED BY: columns and what is said of the order by each."""
    reader.expect("BY")
    token, found = reader.token, [_order(reader, schema)]
    while reader.accept(","):
        found.append(_order(reader, schema))
        if found[-1].column.lower() in [each.column.lower() for each in found[:-1]]:
            hint = "say all of a column's order at once"
            reader.fail("ORDERED BY names a column twice", hint=hint, token=token)
    return tuple(found)


def _order(reader: TokenReader, schema: Schema) -> KeyOrder:
    """Read a column and what is said of its order; what is left out is measured."""
    token = reader.token
    column = reader.name("a column")
    with reader.placed(token):
        column = ordering_column(column, schema) if schema.columns else column
        said: dict[str, float] = {}
        while word := next((each for each in FIGURES if reader.accept(each)), None):
            if word in said:
                reader.miss("a clause of the stream", hint=f"{word} stands there already")
            said[word] = _figure(reader, word)
        whole = {word: None if word not in said else int(said[word]) for word in FIGURES}
        return KeyOrder(column, whole["SCRAMBLED"], said.get("RATE"), whole["DUPLICATES"])


def _figure(reader: TokenReader, word: str) -> float:
    token, text = reader.token, reader.number()
    if text is None:
        reader.miss(f"a number after {word}", hint="ORDERED BY epoch SCRAMBLED 50 RATE 100")
    with reader.placed(token):
        if word != "RATE" and not text.removeprefix("-").isdecimal():
            raise BadOptionError(f"{word} {shortened(text)} must be a whole number of tuples")
        return min(max(float(text), -1.0), 1e300)


def ordering_column(name: str, schema: Schema) -> str:
    """Return the column that ORDERED BY names, or raise what is wrong with it."""
    column = schema.find(name)
    if column is None:
        hint = near_miss(name, schema.names) or f"it has {', '.join(schema.names)}"
        raise UnknownColumnError(f"the stream has no column {name}", hint=hint)
    if column.type not in ORDERING:
        raise TypeMismatchError(
            f"{column.name} is of type {column.type}, and what orders a stream is a whole number "
            "or a time",
            hint=f"one of {', '.join(ORDERING)}",
        )
    return column.name


def _slack(reader: TokenReader, _: Schema) -> timedelta | AdaptiveSlack:
    token = reader.token
    if reader.choose("INTERVAL", "ADAPTIVE", what="INTERVAL or ADAPTIVE") == "ADAPTIVE":
        share = reader.token
        with reader.placed(share):
            number = reader.number()
            return AdaptiveSlack() if number is None else AdaptiveSlack(_share(number))
    with reader.placed(token):
        slack = duration(reader, refuse=BadOptionError)
        if slack < ZERO:
            raise BadOptionError(f"SLACK {duration_sql(slack)} must be at least zero")
    return slack


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadOptionError(f"{text} is no share", hint="SLACK ADAPTIVE 0.99") from None


def _length(clause: str, word: str) -> Callable[[TokenReader, Schema], timedelta]:
    """Return the rule of a clause of two words and a length of time."""

    def rule(reader: TokenReader, _: Schema) -> timedelta:
        reader.expect(word)
        return positive_duration(reader, of=f"{clause} {word}")

    return rule


def _idle(reader: TokenReader, schema: Schema) -> tuple[timedelta, bool]:
    """Read after which silence others do not wait, or time goes on by the clock."""
    length = _length("IDLE", "AFTER")(reader, schema)
    if not reader.accept("BY"):
        return length, False
    reader.expect("CLOCK", hint="IDLE AFTER INTERVAL 10 SECONDS BY CLOCK")
    return length, True


CLAUSES: dict[str, Callable[[TokenReader, Schema], Any]] = {
    "TIMESTAMP": _time_column,
    "SLACK": _slack,
    "VALID": _length("VALID", "FOR"),
    "ARCHIVE": _length("ARCHIVE", "FOR"),
    "IDLE": _idle,
    "ORDERED": _ordered,
    "SHED": lambda reader, _: read_shed_by(reader),
    "FROM": lambda reader, _: read_connector(reader),
}
