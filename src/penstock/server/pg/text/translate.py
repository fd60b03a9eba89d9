"""Statements as PostgreSQL's clients write them, in Penstock's words.

Only what the two languages write differently is changed: strings and quoted names, parameters,
the schema `public`, names of types in casts, and EXTRACT(EPOCH FROM …). All else stays as it is,
so that places of errors can be told in the client's own text.
"""

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import SqlError
from penstock.model.schema import literal, quoted
from penstock.server.pg.text.lexer import Lexeme, Token, place_at

PUBLIC = "PUBLIC"  # the schema that clients find streams and queries in
# PostgreSQL's names of types, as far as Spark has others; longer ones first.
CAST_TYPES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("TIMESTAMP", "WITH", "TIME", "ZONE"), "TIMESTAMP"),
    (("TIMESTAMP", "WITHOUT", "TIME", "ZONE"), "TIMESTAMP"),
    (("DOUBLE", "PRECISION"), "DOUBLE"),
    (("CHARACTER", "VARYING"), "STRING"),
    (("TIMESTAMPTZ",), "TIMESTAMP"),
    (("BOOL",), "BOOLEAN"),
    (("INT2",), "SMALLINT"),
    (("INT4",), "INT"),
    (("INTEGER",), "INT"),
    (("INT8",), "BIGINT"),
    (("FLOAT4",), "FLOAT"),
    (("REAL",), "FLOAT"),
    (("FLOAT8",), "DOUBLE"),
    (("TEXT",), "STRING"),
    (("VARCHAR",), "STRING"),
    (("BPCHAR",), "STRING"),
    (("JSON",), "STRING"),
    (("JSONB",), "STRING"),
    (("UUID",), "STRING"),
    (("BYTEA",), "BINARY"),
)
NUMERIC = "DECIMAL(38, 18)"  # a NUMERIC of PostgreSQL's has no bounds, a DECIMAL of Spark's has
Values = Callable[[int], str]  # a parameter's number to a literal


@dataclass(frozen=True, slots=True)
class Translated:
    """A text in Penstock's words; `origins` are pairs of where a piece stands in it, and stood."""

    text: str
    origins: tuple[tuple[int, int], ...]

    def origin(self, offset: int) -> int:
        """Return where in the client's text a character comes from, as near as is known."""
        index = bisect.bisect_right(self.origins, (offset, len(self.text) + (1 << 40))) - 1
        if index < 0:
            return 0
        begin, stood = self.origins[index]
        return stood + offset - begin


@dataclass(frozen=True, slots=True)
class _Brackets:
    """Where each opening one ends, and for each token the innermost one that it stands in."""

    ends: Mapping[int, int]
    around: Sequence[int | None]

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> "_Brackets":
        """Return those of tokens, in one pass: a statement may have thousands."""
        opened: list[int] = []
        ends: dict[int, int] = {}
        around: list[int | None] = []
        for index, token in enumerate(tokens):
            around.append(opened[-1] if opened else None)
            if token.is_word("("):
                opened.append(index)
            elif token.is_word(")") and opened:
                ends[opened.pop()] = index
        return cls(ends, around)


def translated(text: str, tokens: Sequence[Token], values: Values) -> Translated:
    """Return a statement, or several, in Penstock's words; `tokens` are those of the text."""
    replaced = _replaced(text, tokens, values)
    pieces: list[str] = []
    origins: list[tuple[int, int]] = []
    length, end = 0, tokens[0].begin if tokens else 0
    for index, token in enumerate(tokens):
        gap = _gap(text[end : token.begin])
        piece = replaced.get(index, token.written(text))
        origins.append((length + len(gap), token.begin))
        pieces += [gap, piece]
        length += len(gap) + len(piece)
        end = token.end
    return Translated("".join(pieces), tuple(origins))


def parameters_in(tokens: Sequence[Token]) -> int:
    """Return the highest number of a parameter."""
    return max((int(t.value) for t in tokens if t.kind is Lexeme.PARAMETER), default=0)


def type_names(tokens: Sequence[Token]) -> Mapping[int, str]:
    """Return the types that parameters are cast to, and BIGINT for those after LIMIT and OFFSET."""
    found: dict[int, str] = {}
    for index, token in enumerate(tokens):
        if token.kind is not Lexeme.PARAMETER:
            continue
        before = tokens[index - 1] if index else token
        after = tokens[index + 1 : index + 3]
        if before.is_word("LIMIT", "OFFSET", "FETCH"):
            found.setdefault(int(token.value), "int8")
        elif len(after) > 1 and after[0].is_word("::", "AS") and after[1].is_name:
            array = "[]" if _is_array(tokens, index + 3) else ""
            found.setdefault(int(token.value), after[1].value.lower() + array)
    return found


def _gap(between: str) -> str:
    """Return what stands between two tokens; of comments, only their lines' ends."""
    return between if not between.strip() else " " + "\n" * between.count("\n")


def _replaced(text: str, tokens: Sequence[Token], values: Values) -> dict[int, str]:
    """Return what is to stand in the place of tokens, by their index."""
    found: dict[int, str] = {}
    brackets = _Brackets.of(tokens)
    for index, token in enumerate(tokens):
        match token.kind:
            case Lexeme.STRING:
                found[index] = literal(token.value)
            case Lexeme.QUOTED:
                found[index] = quoted(token.value)
            case Lexeme.PARAMETER:
                found[index] = values(int(token.value))
            case _ if token.is_word("::") and _counts_rows(tokens, index):
                found |= {index: "", index + 1: ""}
            case _ if token.is_word("::", "AS"):
                found |= {**_cast_type(tokens, index, brackets), **found}
            case _ if token.is_word("EXTRACT"):
                found |= _epoch(text, tokens, index, brackets)
            case _:
                pass
        if _is_public(tokens, index):
            found[index] = found[index + 1] = ""
    return found


def _is_public(tokens: Sequence[Token], index: int) -> bool:
    """Say whether a name's schema stands here, with its point behind it."""
    token, after = tokens[index], tokens[index + 1 : index + 3]
    first = index == 0 or not tokens[index - 1].is_word(".")
    return (
        first
        and token.is_name
        and token.value.upper() == PUBLIC
        and len(after) > 1
        and after[0].is_word(".")
        and after[1].is_name
    )


def _is_array(tokens: Sequence[Token], index: int) -> bool:
    """Say whether the brackets of an array's type stand here."""
    here = tokens[index : index + 2]
    return len(here) > 1 and here[0].is_word("[") and here[1].is_word("]")


def _counts_rows(tokens: Sequence[Token], index: int) -> bool:
    """Say whether a cast is that of LIMIT 5::int, where Spark takes a plain number alone."""
    return index > 1 and tokens[index - 2].is_word("LIMIT", "OFFSET")


def _cast_type(tokens: Sequence[Token], index: int, brackets: _Brackets) -> dict[int, str]:
    """Return Spark's name for the type of a cast. An AS that no type follows is an alias's."""
    words = [token.value.upper() for token in tokens[index + 1 : index + 6]]
    if tokens[index].is_word("AS") and not _stands_in_a_cast(tokens, brackets.around[index]):
        return {}
    if words and _is_array(tokens, index + 2):
        element = dict(CAST_TYPES).get((words[0],), words[0])
        return {index + 1: f"ARRAY<{element}>", index + 2: "", index + 3: ""}
    if words[:1] in (["NUMERIC"], ["DECIMAL"]) and words[1:2] != ["("]:
        return {index + 1: NUMERIC}
    for names, meant in CAST_TYPES:
        if tuple(words[: len(names)]) == names:
            rest = dict.fromkeys(range(index + 2, index + 1 + len(names)), "")
            return {index + 1: meant, **rest}
    return {}


def _stands_in_a_cast(tokens: Sequence[Token], opening: int | None) -> bool:
    """Say whether an AS stands in CAST(… AS …): the parenthesis that it is in follows that word."""
    return bool(opening) and tokens[(opening or 0) - 1].is_word("CAST", "TRY_CAST")


def _epoch(text: str, tokens: Sequence[Token], index: int, brackets: _Brackets) -> dict[int, str]:
    """Return EXTRACT(EPOCH FROM x) as seconds with their fraction, which Spark has no word for."""
    words = [token.value.upper() for token in tokens[index : index + 4]]
    if words != ["EXTRACT", "(", "EPOCH", "FROM"]:
        return {}
    if (end := brackets.ends.get(index + 1)) is not None:
        opened = {index: "(unix_micros", index + 2: "", index + 3: ""}
        return {**opened, end: ") / 1e6)"}
    raise SqlError("( is not closed", place=place_at(text, tokens[index + 1].begin))
