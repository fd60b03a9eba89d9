"""Victims (ANA-11, H11): who is suspended when all that may be shed is not enough.

Those go first that weigh least for what they need, and each that turns out not to be needed comes
back, the heaviest first. To find the least weight is a knapsack of whole queries, which is hard; no
victim that is left could be spared by itself. A query goes when there has been too little room for
a moment, and comes back when there has been enough, and some more, for a while.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.qos.load.load import load_of
from penstock.qos.load.network import Network
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.placement import place

GOAL = 0.95  # of what is left behind all gates that may be
ROOM = 0.9  # to come back: a query that would be suspended again soon is better left
PATIENCE_SECONDS = 10.0  # until somebody comes back
ENDURED_SECONDS = 2.0  # until somebody goes: buffers hold a burst for so long

_ALL = 1e9  # a load that nobody has


@dataclass(frozen=True, slots=True)
class SuspensionPlan:
    """A query that is suspended: since when, and the load that there was for how much room."""

    since: float
    load: float
    room: float

    def text(self) -> str:
        """Return why, for people."""
        return f"the least load was {self.load:.2f}, of {self.room:.2f} that there is room for"


@dataclass(frozen=True, slots=True)
class Suspended:
    """Who is suspended and why, since when there has been room for somebody, or too little."""

    queries: Mapping[str, SuspensionPlan] = field(default_factory=dict)
    room_since: float | None = None
    short_since: float | None = None


NOBODY = Suspended()


def least_load(network: Network, limits: Mapping[str, Limit]) -> float:
    """Return the load of the busiest processor if all is shed that may be."""
    everything = dict.fromkeys(network.slots, _ALL)
    left = load_of(network, place(network, limits, everything).keeps)
    return max(left.values(), default=0.0)


def suspended(
    before: Suspended,
    network: Network,
    limits: Mapping[str, Limit],
    now: float,
    *,
    spare: frozenset[str] = frozenset(),
) -> Suspended:
    """Return who shall be suspended, but `spare`; `network` has all, whether they run or not."""
    gone = frozenset(before.queries)
    present = least_load(network.without(gone), limits)
    if present > GOAL:
        short = now if before.short_since is None else before.short_since
        if now - short < ENDURED_SECONDS:
            return Suspended(before.queries, None, short)
        more = suspended_now(network.without(gone), limits, GOAL, spare=spare)
        new = {query: SuspensionPlan(now, present, GOAL) for query in sorted(more)}
        return Suspended({**before.queries, **new})
    if not gone:
        return NOBODY
    back = gone - suspended_now(network, limits, ROOM, spare=frozenset(network.roots) - gone)
    if not back:
        return Suspended(before.queries)
    since = now if before.room_since is None else before.room_since
    if now - since < PATIENCE_SECONDS:
        return Suspended(before.queries, since)
    return Suspended({query: each for query, each in before.queries.items() if query not in back})


def suspended_now(
    network: Network,
    limits: Mapping[str, Limit],
    goal: float,
    *,
    spare: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """Return whom to suspend so that the rest has a least load of at most the goal, if possible."""
    order = sorted(network.roots.keys() - spare, key=lambda each: _worth(network, limits, each))
    chosen: list[str] = []
    for query in order:
        if least_load(network.without(frozenset(chosen)), limits) <= goal:
            break
        chosen.append(query)
    for query in sorted(chosen, key=lambda each: -_weight(limits, each)):
        others = frozenset(chosen) - {query}
        if least_load(network.without(others), limits) <= goal:
            chosen.remove(query)
    return frozenset(chosen)


def _weight(limits: Mapping[str, Limit], query: str) -> float:
    return limits[query].weight if query in limits else 1.0


def _worth(network: Network, limits: Mapping[str, Limit], query: str) -> tuple[float, str]:
    """Return what a query weighs for a second of what only it needs."""
    all_, without = load_of(network), load_of(network.without(frozenset([query])))
    keep = 1 - limits[query].most if query in limits else 1.0
    own = keep * sum(all_[name] - without[name] for name in all_)
    return (_weight(limits, query) / own if own > 0 else float("inf"), query)
