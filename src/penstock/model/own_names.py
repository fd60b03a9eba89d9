"""Penstock's own names: those that it writes into SQL and tables beside the user's.

All of them begin alike, and nothing of the user's may begin so: then no name of a column, an alias
or a lambda's variable can capture another, whatever users call theirs.
"""

import re

from penstock.errors import BadNameError, Place

PREFIX = "_penstock_"


def own(name: str) -> str:
    """Return a name that nothing of the user's can have."""
    return PREFIX + name


# A window's bounds: what users call them, and the columns that carry them.
BOUNDS = {name: own(name) for name in ("window_start", "window_end")}
# What stands for an operator's input, and for both sides where it has two.
INPUT, LEFT, RIGHT = own("i"), own("l"), own("r")


def side(place: int) -> str:
    """Return what stands for one of many inputs."""
    return own(f"s{place}")


def is_own(name: str) -> bool:
    """Say whether a name is Penstock's, whatever its case."""
    return name.lower().startswith(PREFIX)


def refuse_own(name: str, place: Place | None = None) -> None:
    """Raise where the user takes one of Penstock's names."""
    if is_own(name):
        raise BadNameError(
            f"{name} begins as Penstock's own names do",
            hint=f"take a name that does not begin with {PREFIX}",
            place=place,
        )


def readable(text: str) -> str:
    """Return a text for people: without what makes our names different from theirs."""
    return re.sub(r"(`\w+`) AS \1", r"\1", text.replace(PREFIX, ""))
