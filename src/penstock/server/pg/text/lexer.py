"""A text of SQL cut into tokens as PostgreSQL cuts it.

A backslash in a string is a backslash, `E'…'` has escapes, `$tag$…$tag$` is a string, a name in
double quotes is a name, comments nest (PostgreSQL's documentation, chapter Lexical Structure).
Backticks are Penstock's own, and stay names.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.errors import Place, SqlError

LEXEMES = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<line_comment>--[^\r\n]*)
    | (?P<block_comment>/\*)
    | (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')
    | (?P<raw>[rR]'[^']*'|[rR]"[^"]*")
    | (?P<string>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<backquoted>`(?:[^`]|``)*`)
    | (?P<parameter>\$\d{1,5})
    | (?P<dollar>\$(?P<tag>(?:[^\W\d]\w*)?)\$)
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\w*)
    | (?P<name>[^\W\d][\w$]*)
    | (?P<symbol>::|=>|[^\s])
    """,
    re.VERBOSE | re.DOTALL,
)
NESTING = re.compile(r"/\*|\*/")
ESCAPES = re.compile(
    r"\\(?:u(?P<u4>[0-9a-fA-F]{4})|U(?P<u8>[0-9a-fA-F]{8})|x(?P<hex>[0-9a-fA-F]{1,2})"
    r"|(?P<octal>[0-7]{1,3})|(?P<one>.))|(?P<quote>'')",
    re.DOTALL,
)
NAMED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Lexeme(Enum):
    """What a token is; RAW is a string in which Spark knows no escapes."""

    NAME = "name"
    QUOTED = "quoted"
    STRING = "string"
    RAW = "raw"
    NUMBER = "number"
    PARAMETER = "parameter"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """One token: where it stands, and what it says: a string's value, a name's, a number's.

    A token that ends where it begins stands in no text; it was put there.
    """

    kind: Lexeme
    value: str
    begin: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Say whether this is one of these words (in upper case) or symbols, unquoted."""
        return self.kind in (Lexeme.NAME, Lexeme.SYMBOL) and self.value.upper() in words

    def written(self, text: str) -> str:
        """Return the token as it stands in its text."""
        return text[self.begin : self.end] if self.end > self.begin else f" {self.value} "

    @property
    def is_name(self) -> bool:
        """Say whether this can be the name of something."""
        return self.kind in (Lexeme.NAME, Lexeme.QUOTED)


def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text, without comments."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        token, at = _next(text, at)
        if token is not None:
            found.append(token)
    return tuple(found)


def statements_of(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    """Return the tokens of each statement, without the semicolons between."""
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.is_word(";"):
            statements.append([])
        else:
            statements[-1].append(token)
    return [tuple(each) for each in statements if each]


def place_at(text: str, offset: int) -> Place:
    """Return the place of a character."""
    before = text[:offset]
    line = before.count("\n")
    return Place(line + 1, offset - before.rfind("\n"), text)


def _next(text: str, at: int) -> tuple[Token | None, int]:
    match = LEXEMES.match(text, at)
    if match is None or match.lastgroup is None:
        raise SqlError("this character cannot be read", place=place_at(text, at))
    kind, found, end = _kind_of(match), match[0], match.end()
    match kind:
        case "space" | "line_comment":
            return None, end
        case "block_comment":
            return None, _comment_end(text, at)
        case "dollar":
            return _dollar_quoted(text, match)
        case "escaped":
            return Token(Lexeme.STRING, ESCAPES.sub(_unescaped, found[2:-1]), at, end), end
        case "string":
            return Token(Lexeme.STRING, found[1:-1].replace("''", "'"), at, end), end
        case "quoted":
            return Token(Lexeme.QUOTED, found[1:-1].replace('""', '"'), at, end), end
        case "backquoted":
            return Token(Lexeme.QUOTED, found[1:-1].replace("``", "`"), at, end), end
        case "symbol" if found in ("'", '"', "`"):
            what = "a string" if found == "'" else "a name"
            raise SqlError(
                f"{what} is not closed", hint=f"it ends with {found}", place=place_at(text, at)
            )
        case _:
            value = found[1:] if kind == "parameter" else found
            return Token(Lexeme(kind), value, at, end), end


def _kind_of(match: re.Match[str]) -> str:
    """Return the outermost group: `tag` stands inside of `dollar`."""
    return "dollar" if match["dollar"] is not None else str(match.lastgroup)


def _comment_end(text: str, at: int) -> int:
    depth, end = 1, at + 2
    while depth:
        match = NESTING.search(text, end)
        if match is None:
            raise SqlError(
                "a comment is not closed", hint="it ends with */", place=place_at(text, at)
            )
        depth += 1 if match[0] == "/*" else -1
        end = match.end()
    return end


def _dollar_quoted(text: str, opening: re.Match[str]) -> tuple[Token, int]:
    close = text.find(opening[0], opening.end())
    if close < 0:
        place = place_at(text, opening.start())
        raise SqlError("a string is not closed", hint=f"it ends with {opening[0]}", place=place)
    end = close + len(opening[0])
    return Token(Lexeme.STRING, text[opening.end() : close], opening.start(), end), end


def _unescaped(match: re.Match[str]) -> str:
    if match["quote"]:
        return "'"
    if code := match["u4"] or match["u8"] or match["hex"]:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else "�"  # noqa: PLR2004  (the last of Unicode)
    if match["octal"]:
        return chr(int(match["octal"], 8) & 0xFF)
    return NAMED.get(match["one"], match["one"])
