"""What a scheduling strategy decides. It sees, it never acts.

Every strategy observes, cuts and chooses. Some can also say which unit at work should give way,
and which tuples nobody waits for any more; whoever cannot stop a unit does not ask them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit
from penstock.schedule.costs.observation import Observation


@dataclass(frozen=True, slots=True, eq=False)  # told apart as objects, which costs no hashing
class ReadyUnit:
    """A unit with input that waits, and what its next run would take.

    `deadline` is the earliest of those tuples' (`deadline_of`); what is known of the unit beyond
    its queue is in the observation. It is another one as soon as its queue is. `late` is the share
    of the queue that is too late already and has to run before what is not.
    """

    key: str
    waiting_rows: float
    waiting_since: float
    waiting_bytes: float = 0
    deadline: float = math.inf
    late: float = 0.0


@dataclass(frozen=True, slots=True)
class RunningUnit:
    """A unit at work, what it took, and the seconds that it still needs."""

    ready: ReadyUnit
    remaining_seconds: float


class Strategy(Protocol):
    """Two decisions, by what was last observed; the runtime carries them out."""

    def observe(self, seen: Observation) -> None:
        """Decide by these figures from now on; units that are cut already stay as they are."""
        ...

    def cut(self, graph: Graph, cut_roots: Iterable[str]) -> tuple[Unit, ...]:
        """Return the graph's units; `cut_roots` are nodes whose buffers hold trains."""
        ...

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the key of the unit that runs next, one of `ready`, or None to wait."""
        ...


@runtime_checkable
class Interrupting(Protocol):
    """A strategy that would take a slot away from a unit at work."""

    def interrupt(self, running: RunningUnit, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the ready unit that should run instead, or None to let it finish."""
        ...


@runtime_checkable
class Discarding(Protocol):
    """A strategy that gives up tuples whose results would come too late."""

    def hopeless(self, ready: Sequence[ReadyUnit], now: float) -> list[str]:
        """Return the units whose next run cannot be in time."""
        ...

    def alarm(self, ready: Sequence[ReadyUnit], now: float) -> float:
        """Return when the first of them will be too late unless it runs: `interrupt` is due."""
        ...
