"""Numbers of a SELECT, apart from its text: the same shape is read once, whatever its numbers.

Which windows close, and from when on, stands in the text of each SELECT as a BIGINT literal of
several digits.
"""

import re

from penstock.model.own_names import own

PARAM = own("param")
LARGEST = 2**63 - 1
# Strings and names are passed over; what looks like a number inside them is none.
TOKEN = re.compile(
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`]|``)*`|\b(?P<number>\d{4,19})L\b", re.DOTALL
)
RAW = re.compile(r"\br['\"]", re.IGNORECASE)  # a raw string, in which a backslash is no escape


def without_numbers(sql: str) -> tuple[str, tuple[int, ...]]:
    """Return the SELECT with a call in place of each BIGINT literal, and their values.

    Equal numbers are one: what is written twice is still seen to be the same.
    """
    if RAW.search(sql):
        return sql, ()
    places: dict[int, int] = {}

    def placed(token: re.Match[str]) -> str:
        number = -1 if token["number"] is None else int(token["number"])
        if not 0 <= number <= LARGEST:
            return token[0]
        return f"{PARAM}({places.setdefault(number, len(places))})"

    return TOKEN.sub(placed, sql), tuple(places)
