"""Where a statement has a word that only a later look at it finds wrong."""

import re
from itertools import pairwise

from sqlglot import Token, TokenType

from penstock.errors import Place
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.refusals import place_within

# As Spark reads them in the place of a time.
PRESENT = re.compile(r"\s*(?:epoch|now|today|tomorrow|yesterday)\b", re.IGNORECASE)


def place_of_call(text: str, begin: Place, name: str) -> Place | None:
    """Return where a statement calls a function, or else has its name; None where it has neither.

    The text of the statement has been read before, and begins at a place of a script.
    """
    tokens = _tokens(text)
    named = [
        (token, after.token_type is TokenType.L_PAREN)
        for token, after in pairwise([*tokens, *tokens[-1:]])
        if token.text.lower() == name.lower() and token.token_type is not TokenType.STRING
    ]
    found = [token for token, called in named if called] or [token for token, _ in named]
    return place_within(begin, text, found[0].start) if found else None


def place_of_present(text: str, begin: Place) -> Place | None:
    """Return where a statement has a string such as 'now', or None."""
    strings = (each for each in _tokens(text) if each.token_type is TokenType.STRING)
    found = next((each for each in strings if PRESENT.match(each.text)), None)
    return place_within(begin, text, found.start) if found else None


def _tokens(text: str) -> list[Token]:
    return Penstock.Tokenizer(dialect=Penstock).tokenize(text)
