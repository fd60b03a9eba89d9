"""Connectors and their options: files(path => 'x', every => INTERVAL 2 SECONDS)."""

import math
import re
from collections.abc import Callable, Sequence

from sqlglot import TokenType, exp

from penstock.errors import BadOptionError, shortened
from penstock.model.definitions import Connector, Expression, Option, Secret
from penstock.sql.dialect.intervals import duration
from penstock.sql.dialect.printable import settled
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.trees import spark_sql

SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")  # of a variable of the environment
LITERALS = (
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.DASH,
    TokenType.PLUS,
    TokenType.DOT,
)


def read_connector(reader: TokenReader) -> Connector:
    """Read a connector's name and its options."""
    name = reader.word("an interface or a sink")
    if not reader.sees("("):
        reader.miss("(", hint=f"options stand in parentheses, also where there are none: {name}()")
    return Connector(name.lower(), read_options(reader))


def read_options(
    reader: TokenReader, check: Callable[[str, Option], object] = lambda *_: None
) -> tuple[tuple[str, Option], ...]:
    """Read options in parentheses; their names are in lower case.

    What `check` raises of one of them gets its place.
    """
    options: dict[str, Option] = {}
    reader.expect("(", hint="options stand in parentheses: (name => value)")
    while not (reader.sees(")") and not options):
        token = reader.token
        name = _name(reader)
        with reader.placed(token):
            if name in options:
                raise BadOptionError(f"option {name} is given twice", hint="keep one of the two")
            reader.expect("=>", hint="an option is a name, => and a value")
            options[name] = _value(reader)
            check(name, options[name])
        if not reader.accept(","):
            break
    reader.expect(")", hint="commas stand between options")
    return tuple(options.items())


def _name(reader: TokenReader) -> str:
    """Return an option's name; dots may stand in it, as in kafka.bootstrap.servers."""
    parts = [reader.word("an option's name")]
    while reader.accept("."):
        parts.append(reader.word("an option's name"))
    return ".".join(parts).lower()


def _value(reader: TokenReader) -> Option:
    """Return a literal as Python's own, and any other expression as its text."""
    start = reader.mark()
    if reader.accept("INTERVAL") and reader.token.token_type in LITERALS:
        length = duration(reader, refuse=BadOptionError)
        if reader.sees(",") or reader.sees(")"):
            return length
    reader.back_to(start)
    return _plain(reader.value("a value"))


def _plain(value: exp.Expr) -> Option:
    match value:
        case exp.Boolean():
            return bool(value.this)
        case exp.Literal() if value.is_string:
            return str(value.this)
        case exp.Literal():
            return _number(value.name)
        case exp.Anonymous() if value.name.lower() == "secret":
            return _secret(value.expressions)
        case exp.Neg(this=exp.Literal(is_string=False) as literal):
            return _number(f"-{literal.name}")
        case _:
            return Expression(spark_sql(settled(value, lambda reader: reader.value("a value"))))


def _secret(arguments: Sequence[exp.Expr]) -> Secret:
    name = arguments[0] if len(arguments) == 1 else None
    if not isinstance(name, exp.Literal) or not SECRET_NAME.fullmatch(name.name):
        raise BadOptionError(
            "a secret has a name of letters, digits and underscores",
            hint="secret('NAME'), where the environment has PENSTOCK_SECRET_NAME",
        )
    return Secret(name.name)


def _number(text: str) -> int | float:
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:  # not of this kind, or of more digits than Python reads
            continue
        if math.isfinite(number):
            return number
    raise BadOptionError(f"{shortened(text)} is no number that can be kept")
