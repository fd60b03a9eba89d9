"""Suspension (ANA-11, H11): who goes when all that may be shed is not enough, and who comes back.

Only where somebody was promised a latency and what waits breaks it, for three times that latency
or for ten seconds.

Those go first that weigh least for what they need, and each that turns out not to be needed comes
back, the heaviest first. To find the least weight is a knapsack of whole queries, which is hard; no
victim that is left could be spared by itself. A query comes back when there has been room for it,
and some more, for a while, or at once where nobody is left who was promised anything. Both are told
by times, and not by how often somebody looked: under load looks are rare.
"""

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.qos.load.estimates import busiest
from penstock.qos.load.load import Outlook, load_of
from penstock.qos.load.network import Network
from penstock.qos.load.tuning import (
    BACK_SECONDS,
    BROKEN_LATENCIES,
    BUSY,
    CATCH_UP_SECONDS,
    LEAST_GOAL,
    MOST_BACK_SECONDS,
    MOST_BROKEN_SECONDS,
    MOST_OVER,
    NEXT_SECONDS,
    RELAPSE_SECONDS,
    ROOM,
)
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.placement import place

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
    """Who is suspended and why; since when there is room for somebody, or a promise is broken.

    There has to be room for `back_seconds`; `back_at` is when somebody last came back.
    """

    queries: Mapping[str, SuspensionPlan] = field(default_factory=dict)
    room_since: float | None = None
    broken_since: float | None = None
    back_seconds: float = BACK_SECONDS
    back_at: float | None = None


NOBODY = Suspended()


@dataclass(frozen=True, slots=True)
class Promised:
    """What was promised, by node the shortest latency of those who need it, and who asked.

    `are_asking` says whether somebody was promised a latency at all, though it be suspended;
    `is_known` whether all that promises need has run often enough to tell what it costs.
    """

    latencies: Mapping[str, float]
    are_asking: bool = True
    is_known: bool = True

    @property
    def shortest(self) -> float:
        """Return the shortest latency, infinity where none was promised."""
        return min(self.latencies.values(), default=math.inf)

    @property
    def patience(self) -> float:
        """Return for how long a promise is broken before anybody goes.

        Gates need a while, and so does a virtual machine that compiles what it had little of.
        """
        return min(MOST_BROKEN_SECONDS, BROKEN_LATENCIES * self.shortest)


@dataclass(frozen=True, slots=True)
class Candidates:
    """All who could be suspended, or are: what they need at the rates of now, and may give up.

    `spare` stay whatever happens. `is_short` says that all is shed that may be.
    """

    network: Network
    limits: Mapping[str, Limit]
    spare: frozenset[str] = frozenset()
    is_short: bool = False


def behind_by(
    network: Network, outlook: Outlook, ages: Mapping[str, float], promised: Promised
) -> float:
    """Return how many seconds what waits is behind a promise by the load, 0 where it is not."""
    latencies = promised.latencies
    late = [age for name, age in ages.items() if age > latencies.get(name, math.inf)]
    if not promised.is_known or (not late and outlook.breaks_in(promised.shortest) > 0):
        return 0.0
    needed = max([busiest(network), *load_of(network).values()])
    return max([outlook.wait, *late]) if needed > BUSY else 0.0


def least_load(network: Network, limits: Mapping[str, Limit]) -> float:
    """Return the load of the busiest processor if all is shed that may be."""
    everything = dict.fromkeys(network.slots, _ALL)
    left = load_of(network, place(network, limits, everything).keeps)
    return max(left.values(), default=0.0)


def suspended(
    before: Suspended, of: Candidates, behind: float, promised: Promised, now: float
) -> Suspended:
    """Return who shall be suspended, where what waits is `behind` a promise by so many seconds."""
    if not promised.are_asking:
        return NOBODY
    if behind:
        return _fewer(before, of, behind, promised.patience, now)
    return _more(before, of, now) if before.queries else calmed(before, now)


def calmed(before: Suspended, now: float) -> Suspended:
    """Return that no promise is broken and nobody is away; a recall is remembered for a while."""
    is_recent = before.back_at is not None and now - before.back_at < RELAPSE_SECONDS
    return replace(before, queries={}, room_since=None, broken_since=None) if is_recent else NOBODY


def _fewer(
    before: Suspended, of: Candidates, behind: float, patience: float, now: float
) -> Suspended:
    """Let queries go, once a promise has been broken for long enough."""
    since = now if before.broken_since is None else before.broken_since
    waits = replace(before, room_since=None, broken_since=since)
    if now - since < patience:
        return waits
    running = _over(of, frozenset(before.queries), behind)
    present = least_load(running, of.limits)
    more = suspended_now(running, of.limits, LEAST_GOAL, spare=of.spare)
    if present <= LEAST_GOAL or not more:
        return waits
    new = {query: SuspensionPlan(now, present, LEAST_GOAL) for query in sorted(more)}
    gone, since = {**before.queries, **new}, now - patience + NEXT_SECONDS
    return Suspended(gone, None, since, _back_seconds(before, now))


def _back_seconds(before: Suspended, now: float) -> float:
    """Return for how long there has to be room for those who go now.

    Of a stream that nobody reads nothing is known: that there is room only shows who comes back.
    """
    if before.back_at is not None and now - before.back_at < RELAPSE_SECONDS:
        return min(MOST_BACK_SECONDS, 2 * before.back_seconds)
    return before.back_seconds if before.queries else BACK_SECONDS


def _more(before: Suspended, of: Candidates, now: float) -> Suspended:
    """Call back those for whom there has been room for long enough."""
    gone = frozenset(before.queries)
    others = of.network.roots.keys() - gone
    back = gone - suspended_now(of.network, of.limits, ROOM, spare=frozenset(others))
    if not back or least_load(of.network.without(gone), of.limits) > LEAST_GOAL:
        return replace(before, room_since=None, broken_since=None)
    since = now if before.room_since is None else before.room_since
    if now - since < before.back_seconds:
        return replace(before, room_since=since, broken_since=None)
    left = {query: each for query, each in before.queries.items() if query not in back}
    return Suspended(left, back_seconds=before.back_seconds, back_at=now)


def _over(of: Candidates, gone: frozenset[str], behind: float) -> Network:
    """Return those who run at rates that are too much: what waits has to be done, too.

    A promise breaks though all is shed that may be, so that what is left is more than can be done,
    whatever figures say. They are believed up to a point, and who still has to go shows soon.
    """
    running = of.network.without(gone)
    told = least_load(running, of.limits) if of.is_short else max(load_of(running).values())
    least = 1 + min(1.0, behind / CATCH_UP_SECONDS)
    more = min(MOST_OVER, max(least, told)) / max(told, 1e-9)
    return replace(running, rates={name: rate * more for name, rate in running.rates.items()})


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


def heaviest(
    names: Iterable[str], limits: Mapping[str, Limit], asking: Container[str] = ()
) -> frozenset[str]:
    """Return who stays whatever happens: the heaviest, rather one who was promised something."""
    found = max(names, key=lambda each: (_weight(limits, each), each in asking), default=None)
    return frozenset() if found is None else frozenset([found])


def _weight(limits: Mapping[str, Limit], query: str) -> float:
    return limits[query].weight if query in limits else 1.0


def _worth(network: Network, limits: Mapping[str, Limit], query: str) -> tuple[float, str]:
    """Return what a query weighs for a second of what only it needs."""
    all_, without = load_of(network), load_of(network.without(frozenset([query])))
    keep = 1 - limits[query].most if query in limits else 1.0
    own = keep * sum(all_[name] - without[name] for name in all_)
    return (_weight(limits, query) / own if own > 0 else float("inf"), query)
