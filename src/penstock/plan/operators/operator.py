"""What every operator is: frozen data that knows its inputs and its Spark SQL."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.model.schema import Schema

KEY_DIGITS = 16  # 64 bits: two of a million plans meet by chance once in 37 million systems
REMEMBERED = 65_536  # names of operators; the nodes of ten thousand queries


@dataclass(frozen=True, slots=True)
class EventTime:
    """A column that orders an operator's output; its watermark is the operator's plus `offset`."""

    column: str
    offset: int = 0


class Operator(Protocol):
    """A frozen description of one step; equal descriptions are one node of the shared graph."""

    @property
    def schema(self) -> Schema:
        """Return the columns of the output."""
        ...

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the columns that carry event time, the preferred one first."""
        ...

    @property
    def inputs(self) -> "tuple[Operator, ...]":
        """Return the operators that this one reads."""
        ...

    def text(self) -> str:
        """Return what it does, on one line, without its inputs: the canonical form."""
        ...

    def sql(self, inputs: Sequence[str]) -> str:
        """Return a Spark SELECT over relations (names, or SELECTs in brackets)."""
        ...

    def __hash__(self) -> int:
        """Stand in sets and as keys."""
        ...


# By identity, since to hash or compare an operator is to walk all of its plan. An entry holds its
# operator, so that no other can get the same identity while it is here.
_named: dict[int, tuple[Operator, str]] = {}


def key(operator: Operator) -> str:
    """Return the name of the node: equal for equal sub-plans, stable over restarts."""
    if (found := _named.get(id(operator))) is not None:
        return found[1]
    parts = [operator.text(), *(key(each) for each in operator.inputs)]
    name = hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:KEY_DIGITS]
    if len(_named) >= REMEMBERED:
        _named.clear()
    _named[id(operator)] = (operator, name)
    return name


def walk(operator: Operator) -> Iterator[Operator]:
    """Yield the operator and everything below it, each node once, inputs first."""
    seen: set[str] = set()

    def visit(node: Operator) -> Iterator[Operator]:
        if key(node) in seen:
            return
        seen.add(key(node))
        for each in node.inputs:
            yield from visit(each)
        yield node

    return visit(operator)
