"""Where a text stops making sense, and what its writer may have meant."""

import difflib
import re
from collections.abc import Iterable

from sqlglot import Token, TokenType
from sqlglot.errors import ParseError

from penstock.errors import Place, SqlError, shortened

NEAR = 0.7  # difflib's measure: STRAEM is 0.83 from STREAM, FORM 0.75 from FROM
CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "UNION")


class RefusedError(ParseError):
    """A SqlError on its way through sqlglot, which tries other readings after a ParseError."""

    def __init__(self, error: SqlError, offset: int) -> None:
        super().__init__(error.message)
        self.error = error
        self.offset = offset


def place_at(text: str, offset: int) -> Place:
    """Return the line and column of an offset; lines end where `Place.caret` ends them."""
    lines = (text[:offset] + "x").splitlines()
    return Place(len(lines), len(lines[-1]), text)


def place_within(begin: Place, text: str, offset: int) -> Place:
    """Return the place of an offset in a statement's text that begins somewhere in a script."""
    inside = place_at(text, offset)
    before = begin.column - 1 if inside.line == 1 else 0
    return Place(begin.line + inside.line - 1, before + inside.column, begin.source)


def shown(text: str, token: Token) -> str:
    """Return a token as errors repeat it."""
    if not token:
        return "the end"
    return shortened(text[token.start : token.end + 1])


def near_miss(word: str, known: Iterable[str]) -> str:
    """Return a hint at the known word that this one comes near, or nothing."""
    found = difflib.get_close_matches(word.upper(), [one.upper() for one in known], 1, NEAR)
    return f"did you mean {found[0]}?" if found else ""


def misspelt(refused: Token, before: Token) -> tuple[str, Token]:
    """Return a hint and the token to refuse: a misspelt keyword reads as an alias, if alone."""
    if before and before.token_type is TokenType.MOD:
        return "a share is a number: 0.05 is 5 %", refused
    for token in (refused, before):
        hint = near_miss(token.text, CLAUSES) if token.token_type is TokenType.VAR else ""
        if hint:
            return hint, token
    return "", refused


def reworded(message: str, found: str) -> str:
    """Return what sqlglot says as one of our sentences."""
    if expected := re.match(r"Expect(?:ing|ed) (.+)", message):
        return f"expected {expected[1].split(' but got ')[0]} but found {found}"
    if message.startswith("Required keyword"):
        return f"something is missing before {found}"
    if message in ("", "Invalid expression / Unexpected token"):
        return f"unexpected {found}"
    return f"{message[:1].lower()}{message[1:]}"
