"""What a scheduling strategy decides. It sees, it never acts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.plan.graph import Graph
from penstock.plan.units import Unit


@dataclass(frozen=True, slots=True)
class ReadyUnit:
    """A unit with input that waits, and what is known of it."""

    key: str
    waiting_rows: int
    waiting_since: float


class Strategy(Protocol):
    """Two decisions; the runtime carries them out."""

    def cut(self, graph: Graph, standing: Iterable[str]) -> tuple[Unit, ...]:
        """Return the graph's units; `standing` are nodes whose buffers hold trains."""
        ...

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the key of the unit that runs next, one of `ready`, or None to wait."""
        ...
