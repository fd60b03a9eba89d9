"""The seam of all that runs in a flow: arrivals and a state in, items and a state out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.operator_state import OperatorState

BEGIN = -(2**63)
END = 2**63 - 1


@dataclass(frozen=True, slots=True)
class InputItems:
    """Items that came from one input, and how far it is: nothing before `progress` comes later.

    Progress is in the unit of `Items.times`; END says that the input has ended.
    """

    items: Items
    progress: int = BEGIN

    @property
    def ended(self) -> bool:
        """Whether the input has ended."""
        return self.progress == END


@dataclass(frozen=True, slots=True)
class Withheld:
    """Items that went no further, and why.

    held    the function raised or returned something else than it declared
    late    older than what has been given out already
    missed  the others of the parts that make up an item did not come
    """

    kind: str
    function: str
    cause: str
    items: Items
    node: int = -1


@dataclass(frozen=True, slots=True)
class OperatorStep:
    """What came out of an operator, what it keeps, and when it wants to be asked again."""

    items: Items
    progress: int
    state: OperatorState
    withheld: tuple[Withheld, ...] = ()
    wake: float | None = None


class FlowOperator(Protocol):
    """One function at its place in a flow.

    `step` is pure: the same state, arrivals and time (seconds) give the same answer. There is one
    arrival for each input; what an input has not said anew, the operator remembers.
    """

    @property
    def type(self) -> StreamType:
        """Return the type of what comes out."""
        ...

    def fresh(self) -> OperatorState:
        """Return the state before anything came."""
        ...

    def step(
        self, state: OperatorState, arrivals: Sequence[InputItems], now: float
    ) -> OperatorStep:
        """Take arrivals in and return what can go on."""
        ...


def frontier(arrival: InputItems, before: int = BEGIN) -> int:
    """Return the time before which nothing more comes from an ordered input."""
    newest = int(arrival.items.times.max()) if len(arrival.items) else BEGIN
    return max(before, arrival.progress, newest)


def places(first: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the places of `count` items of which the first stands at `first`."""
    return np.arange(first, first + count, dtype=np.int64)
