"""A script in, its statements out; whatever cannot be read is a PenstockError with its place."""

from collections.abc import Callable
from itertools import chain
from typing import TypeVar

from sqlglot import Token, TokenType, exp

from penstock.errors import PenstockError, SqlError
from penstock.model.own_names import refuse_own
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.refusals import place_at
from penstock.sql.dialect.script import split
from penstock.sql.grammar.grammar import read_select, read_statement
from penstock.sql.grammar.statements import Statement

T = TypeVar("T")


def parse(text: str) -> list[Statement]:
    """Return the statements of a script, which semicolons separate."""
    statements = split(text)
    for token in chain.from_iterable(statements):
        if token.token_type is not TokenType.STRING:
            refuse_own(token.text, place_at(text, token.start))
    return [_read(tokens, text, read_statement) for tokens in statements]


def parse_select(text: str) -> exp.Query:
    """Return the tree of one SELECT, with its windows."""
    first, *others = split(text) or [[]]
    if others:
        place = place_at(text, others[0][0].start)
        raise SqlError("one SELECT was expected, and here is another statement", place=place)
    return _read(first, text, read_select).select


def _read(tokens: list[Token], text: str, rule: Callable[[Penstock.Parser], T]) -> T:
    """Return what the rule makes of a statement, or raise a PenstockError with its place."""
    start = place_at(text, tokens[0].start if tokens else 0)
    try:
        return Penstock.Parser(dialect=Penstock).read(tokens, text, rule)
    except PenstockError as error:
        if error.place is None or error.place.source != text:  # a hint is read as its own text
            error.place = start
        raise
    except RecursionError:
        raise SqlError("nested too deeply", hint="nest it less", place=start) from None
    except Exception as error:  # sqlglot meets some texts with errors of any kind
        raise SqlError("this statement cannot be read", place=start) from error
