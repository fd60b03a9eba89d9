"""What follows CREATE EVENT and its name: SELECT … MASK … FROM … and the clauses behind it."""

from collections.abc import Callable
from typing import Any, cast, get_args

from sqlglot import Token, TokenType, exp

from penstock.errors import BadEventError, BadOptionError, UnknownOptionError
from penstock.model.definitions import EventDefinition, Option
from penstock.sql.clauses.connectors import read_options
from penstock.sql.clauses.event_expressions import FORMS, read_expression, with_within
from penstock.sql.clauses.event_trees import Constituent, Semantics, WrittenEvent
from penstock.sql.dialect.conditions import find_part
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.printable import select_of, settled
from penstock.sql.dialect.refusals import near_miss

Parser = Penstock.Parser
OPTIONS = ("semantics", "limit")
SEMANTICS: tuple[Semantics, ...] = get_args(Semantics)
SHAPE = "CREATE EVENT name AS SELECT a, b MASK condition FROM query"
OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)
# After these an expression goes on, before those it has ended: MASK may be a column's name.
GOES_ON = (TokenType.SELECT, TokenType.COMMA, TokenType.DOT, TokenType.ALIAS)
HAS_ENDED = (TokenType.COMMA, TokenType.DOT)


def read_event(reader: Parser, name: str, text: str) -> tuple[EventDefinition, WrittenEvent]:
    """Read an event after its name."""
    reader.expect("AS", hint=SHAPE)
    start = reader.token
    if not reader.sees("SELECT"):
        reader.miss("SELECT", hint=SHAPE)
    body = reader.text_from(start)
    shown, mask, rest = _cut(reader)
    select = reader.read_apart(shown, select_of)
    if not isinstance(select, exp.Select):
        reader.fail("an event has one SELECT", token=start)
    masked = reader.read_apart(mask, _condition) if mask else None
    event = reader.read_apart(rest, lambda tail: _tail(tail, select, masked))
    return EventDefinition(name, body, text), event


def _cut(reader: Parser) -> tuple[list[Token], list[Token], list[Token]]:
    """Return the tokens of the SELECT, of the mask, and of FROM and what follows."""
    tokens = reader.rest()
    depth, mask = 0, 0
    for index, token in enumerate(tokens):
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        if depth == 0 and token.token_type is TokenType.FROM:
            if mask and mask + 1 == index:
                reader.fail("MASK has no condition", hint=SHAPE, token=token)
            if mask:
                return tokens[:mask], tokens[mask + 1 : index], tokens[index:]
            return tokens[:index], [], tokens[index:]
        if depth == 0 and not mask and index and _is_mask(tokens, index):
            mask = index
    return reader.miss("FROM", hint=SHAPE)


def _is_mask(tokens: list[Token], index: int) -> bool:
    word = tokens[index]
    after = tokens[index + 1].token_type if index + 1 < len(tokens) else TokenType.DOT
    plain = word.token_type is TokenType.VAR and word.text.upper() == "MASK"
    return plain and tokens[index - 1].token_type not in GOES_ON and after not in HAS_ENDED


def _tail(reader: Parser, shown: exp.Select, mask: exp.Expr | None) -> WrittenEvent:
    reader.expect("FROM")
    source = read_expression(reader)
    given: dict[str, Any] = {}
    while reader.token:
        token = reader.token
        if reader.sees("WITHIN"):
            source = with_within(reader, source)
            continue
        clause = reader.choose(*CLAUSES, what="the end") if _is_clause(reader) else _lost(reader)
        if clause in given:
            reader.fail(f"{clause} is given twice", hint="keep one of the two", token=token)
        given[clause] = CLAUSES[clause](reader)
    if isinstance(source, Constituent) and "PARTITION BY" in given:
        reader.fail("PARTITION BY tells apart what is combined, and this is one event", hint=FORMS)
    options = given.get("WITH", {})
    return WrittenEvent(
        shown, source, mask, given.get("WHERE"), given.get("PARTITION BY", ()), **options
    )


def _is_clause(reader: Parser) -> bool:
    return any(reader.sees(word) for word in CLAUSES)


def _lost(reader: Parser) -> str:
    known = "WHERE, PARTITION BY, WITHIN and WITH"
    hint = near_miss(reader.token.text, ("WHERE", "PARTITION BY", "WITHIN", "WITH", "SEQ"))
    return reader.miss("an operator or the end", hint=hint or f"after FROM stand {known}")


def _condition(reader: Parser) -> exp.Expr:
    """Read a condition over single occurrences."""
    token = reader.token
    with reader.placed(token):
        condition = settled(reader.value("a condition"), lambda again: again.value("a condition"))
        part = find_part(condition, "an aggregate", "a modifier", "a window function")
        if part is not None:
            raise BadEventError(
                f"{part} stands in a condition over single occurrences",
                hint="let a query compute it, and the event read the query",
            )
    return condition


def _partition(reader: Parser) -> tuple[exp.Expr, ...]:
    columns: list[exp.Expr] = []
    while not columns or reader.accept(","):
        token = reader.token
        value = reader.value("an attribute")
        if not isinstance(value, exp.Column) or len(value.parts) > 1:
            reader.fail(
                "PARTITION BY takes attributes that all events have, by their names",
                hint="WHERE a.x = b.y links attributes of other names",
                token=token,
            )
        columns.append(value)
    return tuple(columns)


def _options(reader: Parser) -> dict[str, Any]:
    token = reader.token
    options = dict(read_options(reader))
    with reader.placed(token):
        for name in options:
            if name not in OPTIONS:
                hint = near_miss(name, OPTIONS).lower() or f"one of {', '.join(OPTIONS)}"
                raise UnknownOptionError(f"an event has no option {name}", hint=hint)
        return {name: CHECKS[name](value) for name, value in options.items()}


def _semantics(value: Option) -> Semantics:
    if isinstance(value, str) and value.lower() in SEMANTICS:
        return cast("Semantics", value.lower())
    known = " or ".join(f"'{each}'" for each in SEMANTICS)
    raise BadOptionError(f"semantics must be {known}")


def _limit(value: Option) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise BadOptionError(
            "limit must be a whole number above zero",
            hint="so many occurrences are kept for each part of the event and each key",
        )
    return value


CHECKS: dict[str, Callable[[Option], Any]] = {"semantics": _semantics, "limit": _limit}
CLAUSES: dict[str, Callable[[Parser], Any]] = {
    "WHERE": _condition,
    "PARTITION BY": _partition,
    "WITH": _options,
}
