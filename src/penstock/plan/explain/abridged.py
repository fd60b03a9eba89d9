"""What is too long to read, made short: many names, and long lists in SQL."""

import re
from collections.abc import Sequence

NAMES = 10  # as many as fit a line
FIRST, LAST = 3, 1  # the items of a list that stay, from its two ends
LIST = "array("
TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\w*\(|\w+|.""", re.DOTALL)


def few(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - NAMES
    shown = ", ".join(names[:NAMES])
    return f"{shown} and {more:,} more" if more > 0 else shown


def few_items(items: Sequence[str], mark: str = "…") -> list[str]:
    """Return the items, a mark in place of those in the middle of many."""
    if len(items) <= FIRST + LAST:
        return list(items)
    return [*items[:FIRST], mark, *items[-LAST:]]


def abridged(sql: str) -> str:
    """Return Spark SQL with only the ends of long arrays: to be read, not to be run."""
    opened, items = [""], [[""]]  # of each open bracket: what opened it, and what it holds
    for word in TOKEN.findall(sql):
        if word == ")" and len(opened) > 1:
            begin, inside = opened.pop(), items.pop()
            held = few_items(inside, " …") if begin == LIST else inside
            items[-1][-1] += f"{begin}{','.join(held)})"
        elif word.endswith("(") and word[0] not in "'\"`":
            opened.append(word)
            items.append([""])
        elif word == ",":
            items[-1].append("")
        else:
            items[-1][-1] += word
    return "".join(begin + ",".join(held) for begin, held in zip(opened, items, strict=True))
