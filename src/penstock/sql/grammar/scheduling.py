"""SET STRATEGY pcs; SET BATCHING …; SET statement_timeout = '1 minute'; EXPLAIN SCHEDULE."""

from datetime import timedelta

from penstock.errors import BadOptionError, Place
from penstock.sql.clauses.connectors import read_options
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.intervals import duration
from penstock.sql.dialect.refusals import place_at
from penstock.sql.grammar.queries import size_of
from penstock.sql.grammar.statements import (
    Decider,
    ExplainSchedule,
    SetDecider,
    SetJoinMemory,
    SetTimeout,
    Timeout,
)

DECIDERS: tuple[Decider, ...] = ("STRATEGY", "BATCHING")


TIMEOUTS: tuple[Timeout, ...] = ("STATEMENT_TIMEOUT", "RUN_TIMEOUT")
NO_LIMIT = "NONE"
JOIN_MEMORY = "JOIN_MEMORY"
JOIN_MEMORY_HINT = "SET join_memory = '256 MB', or NONE for no bound"


def read_set(reader: Penstock.Parser) -> SetDecider | SetTimeout | SetJoinMemory:
    """Read a whole SET statement."""
    start = reader.token
    text, place = reader.text_from(start), place_at(reader.sql, start.start)
    reader.expect("SET")
    word = reader.choose(*DECIDERS, *TIMEOUTS, JOIN_MEMORY, what="what to set")
    if word == JOIN_MEMORY:
        return SetJoinMemory(text, place, _join_memory(reader))
    if (timeout := next((each for each in TIMEOUTS if each == word), None)) is not None:
        return SetTimeout(text, place, timeout, _timeout(reader, timeout))
    what = next(each for each in DECIDERS if each == word)
    name = reader.word(f"the {what.lower()}'s name").lower()
    options = read_options(reader) if reader.accept("WITH") else ()
    if reader.token:
        reader.miss("the end", hint=f"SET {what} {name} WITH (parameter => value)")
    return SetDecider(text, place, what, name, options)


def _join_memory(reader: Penstock.Parser) -> int | None:
    """Read what follows SET join_memory."""
    reader.expect("=", hint=JOIN_MEMORY_HINT)
    with reader.placed(reader.token):
        size = None if reader.accept(NO_LIMIT) else size_of(reader.string() or "")
        if size == 0:
            raise BadOptionError("join_memory must be above zero", hint=JOIN_MEMORY_HINT)
    if reader.token:
        reader.miss("the end", hint=JOIN_MEMORY_HINT)
    return size


def _timeout(reader: Penstock.Parser, what: Timeout) -> timedelta | None:
    """Read what follows the name of a time-out: nothing of it is too short to be meant."""
    hint = f"SET {what.lower()} = '30 seconds', or {NO_LIMIT} for no limit"
    reader.expect("=", hint=hint)
    with reader.placed(reader.token):
        length = None if reader.accept(NO_LIMIT) else duration(reader, refuse=BadOptionError)
        if length is not None and length <= timedelta(0):
            raise BadOptionError(f"{what.lower()} must be above zero", hint=hint)
    if reader.token:
        reader.miss("the end", hint=hint)
    return length


def read_explain_schedule(reader: Penstock.Parser, text: str, place: Place) -> ExplainSchedule:
    """Read what follows EXPLAIN SCHEDULE."""
    form = reader.choose("TEXT", "JSON", what="TEXT or JSON") if reader.accept("AS") else "TEXT"
    into = ""
    if reader.accept("INTO"):
        into = reader.string() or reader.miss(
            "a file's name", hint="EXPLAIN SCHEDULE AS JSON INTO 'measured.json'"
        )
    if reader.token:
        reader.miss("the end", hint="EXPLAIN SCHEDULE [AS TEXT | JSON] [INTO 'file']")
    return ExplainSchedule(text, place, "JSON" if form == "JSON" else "TEXT", into)
