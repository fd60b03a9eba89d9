"""What a place for results must do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from penstock.engine.allowed import Allowed
from penstock.model.definitions import QueryDefinition


@dataclass(frozen=True, slots=True)
class Delivery:
    """Result rows of one query; deliveries of a query are numbered from one without gaps.

    After a crash the same number comes again with the same rows.
    """

    query: str
    number: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class SinkSurroundings:
    """What a sink may use: a name that no other home has, and what is allowed now.

    A delivery is known everywhere by the home's name, the query's and its number.
    """

    home: Callable[[], str] = lambda: "alone"
    allowed: Callable[[], Allowed] = Allowed


ALONE = SinkSurroundings()


class Sink(Protocol):
    """One query's way out. Called by one thread at a time, in the order of the numbers."""

    @property
    def repeatable(self) -> bool:
        """Say whether writing a number again leaves the same result (so that replay is safe)."""
        ...

    def open(self) -> None:
        """Get ready; raise SinkError where that cannot be."""
        ...

    def write(self, delivery: Delivery) -> None:
        """Hand the rows over, whole or not at all where that can be; raise SinkError."""
        ...

    def close(self) -> None:
        """Close the sink and release what it holds."""
        ...


class SinkClass(Protocol):
    """How a sink is made and checked; the registry holds these."""

    def check(self, definition: QueryDefinition) -> None:
        """Raise what is wrong with the options, before anything is opened."""
        ...

    def __call__(self, definition: QueryDefinition, around: SinkSurroundings) -> Sink:
        """Return a closed sink."""
        ...
