"""Events as they are written: the tree of what stands in FROM, and the clauses around it.

What a tree means is the planner's business; here each part knows its place in the text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from sqlglot import exp

from penstock.errors import Place

# How parts are combined; NOT stands between its first and its last part.
Operation = Literal["OR", "AND", "SEQ", "ANY", "NOT", "A", "A*", "P", "P*", "PLUS"]
Semantics = Literal["interval", "point"]


@dataclass(frozen=True, slots=True)
class Constituent:
    """One event by its name, or a SELECT that stands for one; `label` is how it is spoken of."""

    name: str
    label: str
    place: Place
    select: exp.Query | None = None


@dataclass(frozen=True, slots=True)
class Combined:
    """Parts under one operator.

    `count` is the m of ANY, `every` the period of P and P* or the delay of PLUS, `within` the
    longest time from the start of a detection to its end. Ticks are spoken of by `label`.
    """

    operation: Operation
    parts: "tuple[Written, ...]"
    place: Place
    count: int | None = None
    every: timedelta | None = None
    within: timedelta | None = None
    label: str = ""


Written = Constituent | Combined


@dataclass(frozen=True, slots=True)
class WrittenEvent:
    """CREATE EVENT … AS: what is shown, of what, under which conditions.

    `mask` and `where` are conditions; one stands before FROM, the other behind it.
    """

    shown: exp.Select
    source: Written
    mask: exp.Expr | None = None
    where: exp.Expr | None = None
    partition_by: tuple[exp.Expr, ...] = ()
    semantics: Semantics = "interval"
    limit: int | None = None


def constituents(written: Written) -> Iterator[Constituent]:
    """Yield the events that are combined, in the order of the text."""
    if isinstance(written, Constituent):
        yield written
    else:
        for part in written.parts:
            yield from constituents(part)


def names_of(event: WrittenEvent) -> set[str]:
    """Return the names that an event reads, also inside its conditions, in lower case."""
    found = {each.name.lower() for each in constituents(event.source) if each.select is None}
    selects = [each.select for each in constituents(event.source)]
    for tree in (event.shown, event.mask, event.where, *selects):
        if tree is not None:
            tables = tree.find_all(exp.Table)
            found |= {".".join(part.name for part in table.parts).lower() for table in tables}
    return found
