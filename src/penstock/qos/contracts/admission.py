"""Admission (ANA-11, ANA-18): a query comes in only if all promises can still be kept with it.

Load, latency and memory are those of the graph with the query in it, so that what it shares costs
nothing again. Shedding is not counted on: it is for bursts, not for more queries.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.errors import BadOptionError
from penstock.qos.contracts.contracts import Contract
from penstock.qos.load.estimates import (
    NO_CORRECTIONS,
    Corrections,
    PlanEstimate,
    TrainSize,
    busiest,
    estimated,
)
from penstock.qos.load.load import load_of
from penstock.qos.load.network import Network

MOST_LOAD = 0.9  # beyond it queues grow with every burst, and estimates with every error


@dataclass(frozen=True, slots=True)
class Room:
    """What there is: the load that each slot may have, and the memory of all buffers."""

    load: float = MOST_LOAD
    memory_bytes: float = math.inf


@dataclass(frozen=True, slots=True)
class ProposedPlan:
    """The graph as it would be, how its streams come, and the bytes that states have now."""

    network: Network
    trains: Mapping[str, TrainSize] = field(default_factory=dict)
    state_bytes: float = 0.0
    corrections: Corrections = NO_CORRECTIONS

    def estimate(self) -> PlanEstimate:
        """Return the latencies and the memory that the graph comes to."""
        return estimated(self.network, self.trains, self.corrections)

    def only(self, query: str) -> "ProposedPlan":
        """Return the graph of one query alone."""
        others = frozenset(self.network.roots) - {query}
        return replace(self, network=self.network.without(others))


@dataclass(frozen=True, slots=True)
class Shortage:
    """One thing that there is not enough of, for whom, what it takes and what there is."""

    what: str
    whose: str
    takes: float
    there_is: float

    def text(self) -> str:
        """Return it as a sentence without its end."""
        match self.what:
            case "latency":
                return (
                    f"{self.whose} would take {_seconds(self.takes)} (p99), "
                    f"its max_latency is {_seconds(self.there_is)}"
                )
            case "memory":
                takes, most = f"{self.takes:,.0f}", f"{self.there_is:,.0f}"
                return f"{takes} bytes would wait in buffers, there is room for {most}"
            case "room":
                return f"{self.whose} had to be suspended for want of room"
            case _:
                takes, most = f"{self.takes:.2f}", f"{self.there_is:.2f}"
                return f"{self.whose} would have a load of {takes}, at most {most}"


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a query adds, and what is left."""

    adds_load: float
    left_load: float
    estimate: PlanEstimate


@dataclass(frozen=True, slots=True)
class Refused:
    """What a query would add, and everything that there would be too little of.

    `may_wait` says that the query alone would have room: it may wait until others are gone.
    """

    adds_load: float
    left_load: float
    shortages: tuple[Shortage, ...]
    may_wait: bool

    def text(self) -> str:
        """Return why, for people."""
        told = "; ".join(each.text() for each in self.shortages)
        left = max(0.0, self.left_load)
        return f"it adds a load of {self.adds_load:.2f} where {left:.2f} is left; {told}"

    def error(self, query: str) -> BadOptionError:
        """Return what whoever asked is told."""
        waiting = "OR WAIT to wait for room, " if self.may_wait else ""
        return BadOptionError(
            f"query {query} is not admitted: {self.text()}",
            hint=f"{waiting}FORCE to let it in all the same, or a contract that asks for less",
        )


def admission(
    query: str,
    before: ProposedPlan,
    after: ProposedPlan,
    contracts: Mapping[str, Contract],
    room: Room | None = None,
) -> Admitted | Refused:
    """Return whether a query may come in; `after` is the plan with it."""
    room = room or Room()
    present, then = _most_load(before.network), _most_load(after.network)
    adds, left = then - present, room.load - present
    found = after.estimate()
    shortages = (
        *_loads(after.network, room),
        *_latencies(query, before, found, contracts),
        *_memory(before, found, room),
    )
    if not shortages:
        return Admitted(adds, room.load - then, found)
    return Refused(adds, left, shortages, _has_room_alone(query, after, contracts, room))


def least_latency(plan: ProposedPlan, query: str) -> float:
    """Return what a query's own units take while nothing else is to do."""
    alone = plan.only(query)
    calm = replace(alone.network, rates=dict.fromkeys(alone.network.rates, 1e-9))
    return replace(alone, network=calm).estimate().work[query]


def _most_load(network: Network) -> float:
    return max(load_of(network).values(), default=0.0)


def _loads(network: Network, room: Room) -> list[Shortage]:
    found = [
        Shortage("load", f"processor {name}" if name else "the processor", load, room.load)
        for name, load in load_of(network).items()
        if load > room.load
    ]
    if (most := busiest(network)) > room.load and not found:
        found.append(Shortage("load", "one unit, in its one slot,", most, room.load))
    return found


def _latencies(
    query: str, before: ProposedPlan, after: PlanEstimate, contracts: Mapping[str, Contract]
) -> list[Shortage]:
    """Return whose latency would break by it: who is late already is not held against it."""
    present = before.estimate()
    found = []
    for name in after.latency:
        limit, tail = contracts.get(name, Contract()).max_latency, after.tail(name)
        was_kept = name == query or (name in present.latency and present.tail(name) <= limit)
        if was_kept and tail > limit:
            found.append(Shortage("latency", name, tail, limit))
    return found


def _memory(before: ProposedPlan, found: PlanEstimate, room: Room) -> list[Shortage]:
    """Return by how much buffers would be too small, where they were not already.

    What does not fit is spilled, which no estimate of a latency knows of. States are no part of it:
    they are where windows are.
    """
    needed = found.memory_bytes
    if not math.isfinite(needed) or needed <= room.memory_bytes:
        return []
    if before.estimate().memory_bytes > room.memory_bytes:
        return []
    return [Shortage("memory", "", needed, room.memory_bytes)]


def _has_room_alone(
    query: str, plan: ProposedPlan, contracts: Mapping[str, Contract], room: Room
) -> bool:
    alone = plan.only(query)
    found = alone.estimate()
    limit = contracts.get(query, Contract()).max_latency
    fits = found.tail(query) <= limit and found.memory_bytes <= room.memory_bytes
    return fits and not _loads(alone.network, room)


def _seconds(value: float) -> str:
    return "for ever" if math.isinf(value) else f"{value:.3g} s"
