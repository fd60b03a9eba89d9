"""Scripts, cut into their statements' tokens."""

import itertools
import re

from sqlglot import Token, TokenType
from sqlglot.errors import TokenError

from penstock.errors import SqlError
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.refusals import place_at, shown

PAIRS = {
    TokenType.L_PAREN: TokenType.R_PAREN,
    TokenType.L_BRACKET: TokenType.R_BRACKET,
    TokenType.L_BRACE: TokenType.R_BRACE,
}


def split(text: str) -> list[list[Token]]:
    """Return the tokens of each statement; strings are closed in them, and brackets paired."""
    statements: list[list[Token]] = [[]]
    for token in _tokens(text):
        if token.token_type is TokenType.SEMICOLON:
            statements.append([])
            continue
        if token.token_type is not TokenType.HINT:  # a hint's text is its comment
            token.comments.clear()
        statements[-1].append(token)
    for tokens in statements:
        _check_pairs(tokens, text)
    return [tokens for tokens in statements if tokens]


def calls_of(text: str) -> frozenset[str]:
    """Return what stands before an opening bracket anywhere in a text, in lower case.

    Read as statements are, so that no comment hides a call between itself and its bracket.
    """
    return frozenset(
        name.text.lower()
        for name, after in itertools.pairwise(_tokens(text))
        if after.token_type is TokenType.L_PAREN
    )


def fragment(text: str) -> str:
    """Return a text that is to stand inside of a statement; raise where it would leave it.

    A semicolon would begin another statement, and a comment could swallow what stands behind it.
    """
    for token in _tokens(text):
        if token.token_type is TokenType.SEMICOLON:
            place = place_at(text, token.start)
            raise SqlError("one condition or value was expected, and here it ends", place=place)
        if token.comments and token.token_type is not TokenType.HINT:
            raise SqlError("a comment stands in a condition or value", hint="leave it out")
    return text


def _tokens(text: str) -> list[Token]:
    """Return the script's tokens, each with the comments beside it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        place = place_at(text, error.start)
        raise SqlError("half a character stands here", place=place) from None
    try:
        return Penstock.Tokenizer(dialect=Penstock).tokenize(text)
    except TokenError as error:
        raise _unclosed(text, error) from None


def _unclosed(text: str, error: TokenError) -> SqlError:
    # sqlglot says "Missing ' from line:offset", and runs off the end of an unclosed comment.
    if found := re.search(r"Missing (\S+) from \d+:(\d+)", str(error.__cause__)):
        what = "a name" if found[1] == "`" else "a string"
        place = place_at(text, int(found[2]))
        return SqlError(f"{what} is not closed", hint=f"it ends with {found[1]}", place=place)
    if isinstance(error.__cause__, IndexError):
        place = place_at(text, max(text.rfind("/*"), text.rfind("{#"), 0))
        return SqlError("a comment is not closed", hint="it ends with */", place=place)
    return SqlError("a literal cannot be read", place=place_at(text, error.start or 0))


def _check_pairs(tokens: list[Token], text: str) -> None:
    """Refuse brackets that are not closed, or not by their own kind: sqlglot lets some pass."""
    opened: list[Token] = []
    for token in tokens:
        if token.token_type in PAIRS:
            opened.append(token)
        elif token.token_type in PAIRS.values() and (
            not opened or PAIRS[opened.pop().token_type] is not token.token_type
        ):
            place = place_at(text, token.start)
            raise SqlError(f"{shown(text, token)} closes nothing", place=place)
    if opened:
        place = place_at(text, opened[-1].start)
        raise SqlError(f"{shown(text, opened[-1])} is not closed", place=place)
