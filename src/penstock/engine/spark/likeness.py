"""When two SELECTs have the same columns: where they differ only in what they compare with.

A constant's value may decide a type (`round(x, 2)`), and so stays what it is. One that a column
is compared with decides nothing but a truth value, whatever it is: only its type counts.

    SELECT * FROM i WHERE (`mph` > 57) AND (`kind` IN ('a', 'bc'))
    SELECT * FROM i WHERE (`mph` > ?int) AND (`kind` IN (?string, ?string))
"""

import re

TOKEN = re.compile(
    r"""\s+
    | `(?:[^`]|``)*`                               # a name
    | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*"  # a text
    | (?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[A-Za-z]*
    | \w+
    | <=>|<>|<=|>=|!=|==|\|\||->|=>|[^\w\s]""",
    re.VERBOSE | re.DOTALL,
)
COMPARISONS = frozenset(("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"))
# What may follow a constant that is all of a comparison's right side, and what a left side
# cannot reach over.
ENDS = frozenset(("", ")", ",", "AND", "OR", "THEN"))
BEGINS = frozenset(
    ("", "(", ",", "AND", "OR", "NOT", "SELECT", "WHERE", "ON", "WHEN", "THEN", "ELSE")
)
MAX_INT, MAX_LONG = 2**31 - 1, 2**63 - 1


def likeness(sql: str) -> str:
    """Return the text with the constants that columns are compared with as their types."""
    tokens = TOKEN.findall(sql)
    solid = [place for place, token in enumerate(tokens) if not token.isspace()]
    words = ["", *(tokens[place].upper() for place in solid), ""]
    shown = ["", *(tokens[place] for place in solid), ""]
    for place, word in enumerate(words):
        if word in COMPARISONS:
            _right_side(words, shown, place)
        elif word == "BETWEEN":
            _between(words, shown, place)
        elif word == "IN":
            _within(words, shown, place)
    for place, token in zip(solid, shown[1:-1], strict=True):
        tokens[place] = token
    return "".join(tokens)


def _right_side(words: list[str], shown: list[str], place: int) -> None:
    at = place + 1 if words[place + 1] != "-" else place + 2
    if at + 1 < len(words) and words[at + 1] in ENDS and _has_column(words, place):
        shown[at] = _kind(shown[at])


def _between(words: list[str], shown: list[str], place: int) -> None:
    low, high = place + 1, place + 3
    if high + 1 >= len(words) or words[place + 2] != "AND" or words[high + 1] not in ENDS:
        return
    if _is_constant(shown[low]) and _is_constant(shown[high]) and _has_column(words, place):
        shown[low], shown[high] = _kind(shown[low]), _kind(shown[high])


def _within(words: list[str], shown: list[str], place: int) -> None:
    """Replace a list of constants; anything else in it leaves it as it is."""
    at, kinds = place + 1, {}
    if words[at] != "(" or not _has_column(words, place):
        return
    while words[at] in ("(", ","):
        if not _is_constant(shown[at + 1]):
            return
        kinds[at + 1] = _kind(shown[at + 1])
        at += 2
    if words[at] == ")":
        for each, kind in kinds.items():
            shown[each] = kind


def _has_column(words: list[str], place: int) -> bool:
    """Say whether a column stands left of an operator: then no constant is folded into a type."""
    depth = 0
    while (place := place - 1) >= 0:
        word = words[place]
        if depth == 0 and word in BEGINS:
            return False
        depth += (word == ")") - (word == "(")
        if word.startswith("`"):
            return True
    return False


def _is_constant(token: str) -> bool:
    return token[:1] in ("'", '"') or token[:1].isdigit()


def _kind(token: str) -> str:
    """Return a mark for the constant's type, or the token as it is."""
    if token[:1] in ("'", '"'):
        return "?string"
    whole, dot, fraction = token.partition(".")
    if not whole.isdecimal() or not whole.isascii() or (dot and not fraction.isdecimal()):
        return token
    if dot:  # decimals of as many digits have the same type
        return f"?decimal({len(whole.lstrip('0'))},{len(fraction)})"
    if int(whole) <= MAX_INT:
        return "?int"
    return "?bigint" if int(whole) <= MAX_LONG else token
