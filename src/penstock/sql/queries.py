"""What follows CREATE QUERY and its name."""

from datetime import timedelta

from sqlglot import Token, TokenType, exp

from penstock.errors import BadOptionError, UnknownOptionError
from penstock.model.definitions import Connector, Option, QueryDefinition, StopAfter
from penstock.model.goals import Goals
from penstock.sql.connectors import read_connector, read_options
from penstock.sql.dialect import Penstock
from penstock.sql.intervals import duration, duration_sql
from penstock.sql.reader import Reader
from penstock.sql.refusals import near_miss
from penstock.sql.settle import select_of

GOALS = ("max_latency", "max_error", "weight")
OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)


def read_query(reader: Penstock.Parser, name: str, text: str) -> tuple[QueryDefinition, exp.Query]:
    """Read a query's goals, its SELECT and the clauses after it; return the SELECT's tree too."""
    goals = _goals(reader) if reader.accept("WITH") else Goals()
    reader.expect("AS", hint="CREATE QUERY name AS SELECT …")
    if not reader.token:
        reader.miss("a SELECT")
    select, tail = _split(reader.rest())
    tree = reader.read_apart(select, select_of)
    stop_after, sink = reader.read_apart(tail, _tail)
    written = reader.sql[select[0].start : select[-1].end + 1]
    return QueryDefinition(name, written, goals, sink, stop_after, text), tree


def _goals(reader: Reader) -> Goals:
    token = reader.token
    goals = dict(read_options(reader))
    with reader.placed(token):
        for name in goals:
            if name not in GOALS:
                hint = near_miss(name, GOALS).lower() or f"one of {', '.join(GOALS)}"
                raise UnknownOptionError(f"no goal is called {name}", hint=hint)
        latency = goals.get("max_latency")
        if not (latency is None or isinstance(latency, timedelta)):
            raise BadOptionError("max_latency must be a length of time", hint="INTERVAL 2 SECONDS")
        error, weight = _number(goals, "max_error"), _number(goals, "weight")
        return Goals(latency, error, 1.0 if weight is None else weight)


def _number(goals: dict[str, Option], name: str) -> float | None:
    value = goals.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadOptionError(f"{name} must be a number")
    return float(value)


def _split(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Cut the tokens where the first clause after the SELECT begins.

    sqlglot would read STOP as an alias, so it may not see these clauses.
    """
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        if depth == 0 and index and _starts_clause(tokens[index - 1 : index + 3]):
            return tokens[:index], tokens[index:]
    return tokens, []


def _starts_clause(tokens: list[Token]) -> bool:
    """Say whether the second of these tokens starts STOP AFTER or INTO, and is no alias."""
    before, *words = tokens
    if before.token_type in (TokenType.ALIAS, TokenType.DOT):
        return False
    match [token.text.upper() for token in words if token.token_type is not TokenType.IDENTIFIER]:
        case ["INTO", *_]:
            return True
        case ["STOP", "AFTER", *follow]:
            return follow not in (["FROM"], [","])
        case _:
            return False


def _tail(reader: Reader) -> tuple[StopAfter | None, Connector | None]:
    """Read STOP AFTER and INTO, in either order."""
    stop_after, sink = None, None
    while reader.token:
        if stop_after is None and reader.accept("STOP"):
            stop_after = _stop_after(reader)
        elif sink is None and reader.accept("INTO"):
            sink = read_connector(reader)
        else:
            reader.miss("the end", hint="after the SELECT stand STOP AFTER and INTO, each once")
    return stop_after, sink


def _stop_after(reader: Reader) -> StopAfter:
    reader.expect("AFTER")
    with reader.placed(reader.token):
        if reader.sees("INTERVAL"):
            interval = duration(reader, refuse=BadOptionError)
            if interval <= timedelta(0):
                raise BadOptionError(f"STOP AFTER {duration_sql(interval)} must be above zero")
            return StopAfter(interval=interval)
        tuples = _tuples(reader)
    if not reader.accept("TUPLE"):
        reader.expect("TUPLES", hint="STOP AFTER 1000 TUPLES, or STOP AFTER INTERVAL 2 HOURS")
    return StopAfter(tuples=tuples)


def _tuples(reader: Reader) -> int:
    number = reader.number()
    if number is None:
        reader.miss("a number of tuples", hint="STOP AFTER 1000 TUPLES")
    if not number.isdecimal() or not 1 <= int(number[:19]) < 2**63:
        raise BadOptionError(f"STOP AFTER {number[:40]} TUPLES must be a whole number above zero")
    return int(number)
