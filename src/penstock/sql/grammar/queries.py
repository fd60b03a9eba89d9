"""What follows CREATE QUERY and its name."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, get_args

from sqlglot import Token, TokenType, exp

from penstock.errors import BadOptionError, SqlError, UnknownOptionError, shortened
from penstock.model.definitions import (
    SIZE_HINT,
    JoinMode,
    Keeping,
    KeepStrategy,
    Option,
    QueryDefinition,
    Sites,
    StopAfter,
)
from penstock.model.goals import DEFAULT_PRIORITY, HIGHEST, HINTS, LOWEST, Goals
from penstock.sql.clauses.connectors import read_connector, read_options
from penstock.sql.clauses.flows import read_flow
from penstock.sql.clauses.shed_by import read_shed_by
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.intervals import positive_duration
from penstock.sql.dialect.printable import select_of
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import near_miss

GOALS = ("max_latency", "max_error", "weight", "priority")
OPTIONS = (*GOALS, "join", "sites", "memory", "strategy")
JOINS: tuple[JoinMode, ...] = get_args(JoinMode)
SITES: tuple[Sites, ...] = get_args(Sites)
STRATEGIES: tuple[KeepStrategy, ...] = get_args(KeepStrategy)
SIZE = re.compile(r"(\d{1,15})\s*(B|KB|MB|GB|TB)", re.IGNORECASE)
UNITS = {"B": 0, "KB": 10, "MB": 20, "GB": 30, "TB": 40}  # powers of two
ADMISSION = "FORCE or OR WAIT stands before AS: CREATE QUERY name OR WAIT AS SELECT …"
# By two words, since one may be a name; INTO is a keyword.
STARTS = (("STOP", "AFTER"), ("EMIT", "EARLY"), ("ALLOWED", "LATENESS"), ("SHED", "BY"))
NAMED = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET)
OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)


def read_query(reader: Penstock.Parser, name: str, text: str) -> tuple[QueryDefinition, exp.Query]:
    """Read a query's options, its SELECT and the clauses after it; return the SELECT's tree too."""
    given = _options(reader) if reader.accept("WITH") else (Goals(), JOINS[0], SITES[0], None)
    goals, join, sites, keeping = given
    forced, waits = _admission(reader)
    reader.expect("AS", hint="CREATE QUERY name AS SELECT …")
    if not reader.token:
        reader.miss("a SELECT")
    select, tail = _split(reader.rest())
    rule = read_flow if select[0].text.upper() == "FLOW" else select_of
    tree = _read_select(reader, select, rule)
    clauses = reader.read_apart(tail, _tail)
    definition = QueryDefinition(
        name,
        select=reader.sql[select[0].start : select[-1].end + 1],
        goals=goals,
        sink=clauses.get("INTO"),
        stop_after=clauses.get("STOP"),
        text=text,
        emit_early=clauses.get("EMIT"),
        allowed_lateness=clauses.get("ALLOWED"),
        join=join,
        forced=forced,
        waits=waits,
        shed_by=clauses.get("SHED"),
        sites=sites,
        keeping=keeping,
    )
    return definition, tree


def _admission(reader: TokenReader) -> tuple[bool, bool]:
    """Read FORCE or OR WAIT; return which of them stands there."""
    token, forced, waits = reader.token, reader.accept("FORCE"), reader.accept("OR", "WAIT")
    with reader.placed(token):
        if (forced and waits) or (waits and reader.sees("FORCE")):
            raise SqlError(
                "FORCE and OR WAIT contradict each other",
                hint="FORCE lets a query in at once, OR WAIT when there is room for it",
            )
    if (forced or waits) and reader.sees("WITH"):
        reader.miss("AS", hint="WITH (…) stands before FORCE or OR WAIT")
    return forced, waits


def _read_select(
    reader: Penstock.Parser, tokens: list[Token], rule: Callable[[Any], exp.Query]
) -> exp.Query:
    """Read a SELECT; say where FORCE and OR WAIT belong where one of them stands behind it."""
    if _ends_in_force(tokens):
        with reader.placed(tokens[-1]):
            raise SqlError("FORCE stands behind the SELECT", hint=ADMISSION)
    try:
        return reader.read_apart(tokens, rule)
    except SqlError as error:
        if tokens[-1].text.upper() in ("FORCE", "WAIT"):
            error.hint = error.hint or ADMISSION
        raise


def _ends_in_force(tokens: Sequence[Token]) -> bool:
    """Say whether FORCE, behind a name, would be read as another name for it."""
    *before, last = tokens
    is_word = last.text.upper() == "FORCE" and last.token_type is not TokenType.IDENTIFIER
    return is_word and bool(before) and before[-1].token_type in NAMED


def _options(reader: TokenReader) -> tuple[Goals, JoinMode, Sites, Keeping | None]:
    start = reader.token
    options = dict(read_options(reader, lambda name, value: _taken({name: value})))
    with reader.placed(start):
        return _taken(options)


def _taken(options: Mapping[str, Option]) -> tuple[Goals, JoinMode, Sites, Keeping | None]:
    """Return what options state; raise where there is no such option or its value does not fit."""
    refuse_unknown(options, OPTIONS)
    join, sites = options.get("join", JOINS[0]), options.get("sites", SITES[0])
    return goals_of(options), _join(join), _sites(sites), _keeping(options)


def refuse_unknown(options: Iterable[str], known: Sequence[str]) -> None:
    """Raise where a query has no such option."""
    for name in options:
        if name not in known:
            hint = near_miss(name, known).lower() or f"one of {', '.join(known)}"
            raise UnknownOptionError(f"a query has no option {name}", hint=hint)


def goals_of(options: Mapping[str, Option]) -> Goals:
    """Return the goals that options state; raise where a value does not fit."""
    latency = options.get("max_latency")
    if not (latency is None or isinstance(latency, timedelta)):
        raise BadOptionError("max_latency must be a length of time", hint=HINTS["max_latency"])
    error, weight = _number(options, "max_error"), _number(options, "weight")
    priority = options.get("priority", DEFAULT_PRIORITY)
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise BadOptionError(
            "priority must be a whole number", hint=f"from {LOWEST} to {HIGHEST}, the highest"
        )
    return Goals(latency, error, 1.0 if weight is None else weight, priority)


def _join(value: Option) -> JoinMode:
    for mode in JOINS:
        if isinstance(value, str) and value.lower() == mode:
            return mode
    known = " or ".join(f"'{mode}'" for mode in JOINS)
    raise BadOptionError(
        f"join must be {known}", hint="both give the same rows; 'reuse' keeps more"
    )


def _sites(value: Option) -> Sites:
    for each in SITES:
        if isinstance(value, str) and value.lower() == each:
            return each
    known = ", ".join(f"'{each}'" for each in SITES)
    raise BadOptionError(f"sites must be one of {known}", hint="it says where a flow runs")


def _keeping(options: Mapping[str, Option]) -> Keeping | None:
    if not {"strategy", "memory"} & options.keys():
        return None
    strategy, memory = options.get("strategy", STRATEGIES[0]), options.get("memory")
    for each in STRATEGIES:
        if isinstance(strategy, str) and strategy.lower() == each:
            return Keeping(each, None if memory is None else size_of(memory))
    known = ", ".join(f"'{each}'" for each in STRATEGIES)
    raise BadOptionError(
        f"strategy must be one of {known}", hint="it says how a join without windows keeps tuples"
    )


def size_of(value: Option) -> int:
    """Return the bytes that a text such as `64 MB` stands for."""
    found = SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise BadOptionError("memory must be a size in B, KB, MB, GB or TB", hint=SIZE_HINT)
    return int(found[1]) << UNITS[found[2].upper()]


def _number(options: Mapping[str, Option], name: str) -> float | None:
    value = options.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadOptionError(f"{name} must be a number", hint=HINTS[name])
    return float(value)


def _split(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Cut the tokens where the first clause after the SELECT begins.

    sqlglot would read STOP, EMIT, ALLOWED and SHED as aliases, so it may not see these clauses.
    """
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        if depth == 0 and index and _starts_clause(tokens[index - 1 : index + 3]):
            return tokens[:index], tokens[index:]
    return tokens, []


def _starts_clause(tokens: list[Token]) -> bool:
    """Say whether the second of these tokens starts a clause after the SELECT, and is no alias."""
    before, *words = tokens
    if before.token_type in (TokenType.ALIAS, TokenType.DOT):
        return False
    is_name = [token.token_type is TokenType.IDENTIFIER for token in words]  # in backticks
    texts = ["" if named else each.text.upper() for named, each in zip(is_name, words, strict=True)]
    match texts:
        case ["INTO", *_]:
            return True
        case [first, second, *follow] if (first, second) in STARTS:
            return follow not in (["FROM"], [","])
        case _:
            return False


def _tail(reader: TokenReader) -> dict[str, Any]:
    """Read the clauses after the SELECT, in any order."""
    given: dict[str, Any] = {}
    while reader.token:
        word = next((word for word in CLAUSES if word not in given and reader.accept(word)), None)
        if word is None:
            known = "STOP AFTER, EMIT EARLY EVERY, ALLOWED LATENESS, SHED BY and INTO"
            reader.miss("the end", hint=f"after the SELECT stand {known}, each once")
        given[word] = CLAUSES[word](reader)
    return given


def _stop_after(reader: TokenReader) -> StopAfter:
    reader.expect("AFTER")
    if reader.sees("INTERVAL"):
        return StopAfter(interval=positive_duration(reader, of="STOP AFTER"))
    with reader.placed(reader.token):
        tuples = _tuples(reader)
    if not reader.accept("TUPLE"):
        reader.expect("TUPLES", hint="STOP AFTER 1000 TUPLES, or STOP AFTER INTERVAL 2 HOURS")
    return StopAfter(tuples=tuples)


def _emit_early(reader: TokenReader) -> timedelta:
    reader.expect("EARLY", "EVERY")
    return positive_duration(reader, of="EMIT EARLY EVERY")


def _allowed_lateness(reader: TokenReader) -> timedelta:
    reader.expect("LATENESS")
    return positive_duration(reader, of="ALLOWED LATENESS")


def _tuples(reader: TokenReader) -> int:
    number = reader.number()
    if number is None:
        reader.miss("a number of tuples", hint="STOP AFTER 1000 TUPLES")
    if not number.isdecimal() or not 1 <= int(number[:19]) < 2**63:
        raise BadOptionError(
            f"STOP AFTER {shortened(number)} TUPLES must be a whole number above zero"
        )
    return int(number)


CLAUSES: dict[str, Callable[[TokenReader], Any]] = {
    "STOP": _stop_after,
    "EMIT": _emit_early,
    "ALLOWED": _allowed_lateness,
    "SHED": read_shed_by,
    "INTO": read_connector,
}
