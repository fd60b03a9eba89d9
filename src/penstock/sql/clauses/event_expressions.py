"""What is combined in FROM: (smoke s SEQ hot h), ANY(2, a, b, c), NOT(b)[a, c], A*(a, b, c).

PLUS binds closest, then SEQ, then AND, then OR. Of SEQ, AND and OR, any number stand in a row and
are one operator with as many parts; parentheses make an operator of their own.
"""

from dataclasses import replace
from datetime import timedelta

from sqlglot import Token, TokenType

from penstock.errors import BadEventError, Place
from penstock.sql.clauses.event_trees import Combined, Constituent, Operation, Written
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.intervals import duration, duration_sql, positive_duration
from penstock.sql.dialect.printable import select_of
from penstock.sql.dialect.refusals import place_at

Parser = Penstock.Parser
IN_A_ROW: tuple[Operation, ...] = ("OR", "AND", "SEQ")  # the loosest first
WINDOWED: tuple[Operation, ...] = ("A*", "A", "P*", "P")
WORDS = ("OR", "AND", "SEQ", "PLUS", "WITHIN", "WHERE", "PARTITION", "WITH", "ANY", "NOT")
FORMS = "such as smoke s SEQ hot h, ANY(2, a, b, c), NOT(b)[a, c] or A(a, b, c)"


def read_expression(reader: Parser, level: int = 0) -> Written:
    """Read events that operators combine."""
    if level == len(IN_A_ROW):
        return _plus(reader)
    place = _here(reader)
    parts = [read_expression(reader, level + 1)]
    while reader.accept(IN_A_ROW[level]):
        parts.append(read_expression(reader, level + 1))
    return parts[0] if len(parts) == 1 else Combined(IN_A_ROW[level], tuple(parts), place)


def with_within(reader: Parser, written: Written) -> Written:
    """Read WITHIN where it stands, and give it to what it follows."""
    token = reader.token
    if not reader.accept("WITHIN"):
        return written
    length = positive_duration(reader, of="WITHIN")
    if isinstance(written, Constituent):
        with reader.placed(token):
            raise BadEventError(
                "WITHIN bounds the time from one event to another, and this is one event",
                hint="combine events: (a SEQ b) WITHIN INTERVAL 5 MINUTES",
            )
    if written.within is not None:
        reader.fail("WITHIN is given twice", hint="keep one of the two", token=token)
    return replace(written, within=length)


def _plus(reader: Parser) -> Written:
    place = _here(reader)
    written = _primary(reader)
    while reader.accept("PLUS"):
        length = _period(reader, "PLUS")
        written = Combined("PLUS", (written,), place, every=length)
    return written


def _primary(reader: Parser) -> Written:
    place = _here(reader)
    for operation in WINDOWED:
        if reader.sees(*operation, "("):
            reader.accept(*operation)
            return _windowed(reader, operation, place)
    if reader.accept("ANY"):
        return _any(reader, place)
    if reader.accept("NOT"):
        return _not(reader, place)
    if reader.sees("(", "SELECT") or reader.sees("(", "WITH"):
        return _inline(reader, place)
    if reader.accept("("):
        written = with_within(reader, read_expression(reader))
        reader.expect(")", hint=FORMS)
        return written
    return _named(reader, place)


def _windowed(reader: Parser, operation: Operation, place: Place) -> Combined:
    """Read the parts of A, A*, P and P*: what opens, what happens or how often, what closes."""
    reader.expect("(")
    first, every = read_expression(reader), None
    reader.expect(",", hint=f"{operation}(opening, {_middle(operation)}, closing)")
    parts = [first]
    if operation in ("P", "P*"):
        every = _period(reader, operation)
    else:
        parts.append(read_expression(reader))
    reader.expect(",", hint=f"{operation}(opening, {_middle(operation)}, closing)")
    parts.append(read_expression(reader))
    reader.expect(")")
    label = "" if every is None else _label(reader)
    return Combined(operation, tuple(parts), place, every=every, label=label)


def _any(reader: Parser, place: Place) -> Combined:
    reader.expect("(", hint="ANY(2, a, b, c)")
    token = reader.token
    number = reader.number()
    if number is None:
        reader.miss("how many of the events have to occur", hint="ANY(2, a, b, c)")
    parts = []
    while reader.accept(","):
        parts.append(read_expression(reader))
    reader.expect(")", hint="ANY(2, a, b, c)")
    with reader.placed(token):
        if not number.isdecimal() or not 1 <= int(number[:9]) <= len(parts):
            raise BadEventError(
                f"ANY({number[:20]}, …) of {len(parts)} events can never be told",
                hint=f"the number is from 1 to {len(parts)}" if parts else "ANY(2, a, b, c)",
            )
    return Combined("ANY", tuple(parts), place, count=int(number))


def _not(reader: Parser, place: Place) -> Combined:
    reader.expect("(", hint="NOT(b)[a, c]: a and then c without b between them")
    middle = read_expression(reader)
    reader.expect(")", "[", hint="NOT(b)[a, c]: a and then c without b between them")
    first = read_expression(reader)
    reader.expect(",")
    last = read_expression(reader)
    reader.expect("]")
    return Combined("NOT", (first, middle, last), place)


def _inline(reader: Parser, place: Place) -> Constituent:
    """Read a SELECT in parentheses that stands for an event."""
    reader.expect("(")
    tokens = _inside(reader)
    select = reader.read_apart(tokens, select_of)
    reader.expect(")")
    reader.accept("AS")
    return Constituent("", reader.name("a name for the SELECT"), place, select)


def _inside(reader: Parser) -> list[Token]:
    """Step to the parenthesis that closes the one before the cursor; return what is between."""
    found: list[Token] = []
    depth = 0
    while reader.token and (depth or reader.token.token_type is not TokenType.R_PAREN):
        depth += (reader.token.token_type is TokenType.L_PAREN) - (
            reader.token.token_type is TokenType.R_PAREN
        )
        found.append(reader.step())
    return found


def _named(reader: Parser, place: Place) -> Constituent:
    if not reader.token or any(reader.sees(word) for word in WORDS):
        reader.miss("an event", hint=FORMS)
    name = reader.name("an event")
    if reader.sees("("):
        reader.fail(f"there is no operator {name} of events", hint=FORMS)
    return Constituent(name, _label(reader) or name, place)


def _label(reader: Parser) -> str:
    """Read the name by which a constituent is spoken of, with AS or without; it may be missing."""
    if reader.accept("AS"):
        return reader.name("a name for the event")
    is_word = reader.token and not any(reader.sees(word) for word in WORDS)
    if is_word and reader.token.token_type in (*reader.ID_VAR_TOKENS, TokenType.IDENTIFIER):
        return reader.name("a name for the event")
    return ""


def _period(reader: Parser, operation: Operation) -> timedelta:
    """Read a length of time above zero: shorter ones would never let time go on."""
    token = reader.token
    reader.expect("INTERVAL", hint=f"{operation} takes INTERVAL 10 SECONDS")
    with reader.placed(token):
        length = duration(reader, refuse=BadEventError)
        if length <= timedelta(0):
            raise BadEventError(
                f"{operation} of {duration_sql(length)} must be above zero",
                hint="such as INTERVAL 10 SECONDS",
            )
    return length


def _middle(operation: Operation) -> str:
    return "INTERVAL 10 SECONDS" if operation in ("P", "P*") else "happening"


def _here(reader: Parser) -> Place:
    offset = reader.token.start if reader.token else len(reader.sql)
    return place_at(reader.sql, offset)
