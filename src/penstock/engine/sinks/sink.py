"""What a place for results must do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class Reaching(Protocol):
    """A sink that asks a host; whether it may is asked at CREATE as well as when it opens."""

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise NotAllowedError where the operator has not named the host."""
        ...


@runtime_checkable
class Numbered(Protocol):
    """A sink whose other side remembers numbers of deliveries."""

    def expect(self, known: int) -> None:
        """Take the number of the last delivery of which the journal knows, before `open`."""
        ...


class SinkClass(Protocol):
    """How a sink is made and checked; the registry holds these."""

    def check(self, definition: QueryDefinition) -> None:
        """Raise what is wrong with the options, before anything is opened."""
        ...

    def __call__(self, definition: QueryDefinition, around: SinkSurroundings) -> Sink:
        """Return a closed sink."""
        ...
