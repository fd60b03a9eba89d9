"""Sites: what each site of a plan does for one window of the stream (GSDM-35).

    T(N) = T_recv(N) + T_fn(N) + T_send(N) + T_sys

at a branch, where N is the size of what it gets: the whole window of every k-th (distribute), or
the k-th part of every window (split). The partition and the combination are sites, too: they see
every window, and bound the whole as soon as branches are cheap (GSDM-36).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.functions.tuning.curves import NOTHING, CostCurve
from penstock.functions.tuning.plans import SpreadPlan, SpreadStrategy


class Phase(StrEnum):
    """What a site is for."""

    PARTITION = "partition"
    COMPUTE = "compute"
    COMBINE = "combine"


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds for one window by its size: the function, and the ways to it and from it.

    `splits` and `combines` hold, for each number of parts, what it takes to make all of them of a
    window of the size, or the window of that size of them.
    """

    receive: CostCurve = NOTHING
    compute: CostCurve = NOTHING
    send: CostCurve = NOTHING
    system: float = 0.0
    route: CostCurve = NOTHING
    merge: CostCurve = NOTHING
    splits: Mapping[int, CostCurve] = field(default_factory=dict)
    combines: Mapping[int, CostCurve] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Site:
    """The seconds of one of `copies` equal sites for each window of the stream, on average."""

    phase: Phase
    level: int
    copies: int
    receive: float
    process: float
    send: float
    system: float

    @property
    def seconds(self) -> float:
        """Return all of it: what one window keeps the site busy."""
        return self.receive + self.process + self.send + self.system

    @property
    def name(self) -> str:
        """Return its phase, and its level in a tree."""
        return f"{self.phase} {self.level}"


@dataclass(frozen=True, slots=True)
class _Reach:
    """What comes to a site: windows of a size, a share of all that come to the flow."""

    size: float
    share: float
    level: int = 0
    copies: int = 1


def sites_of(plan: SpreadPlan, costs: Costs, size: int) -> tuple[Site, ...]:
    """Return the sites of a plan for windows of that size, from the stream on."""
    return tuple(_sites(plan, costs, _Reach(size, 1.0)))


def _sites(plan: SpreadPlan, costs: Costs, reach: _Reach) -> Iterator[Site]:
    if not plan.fans:
        yield _site(Phase.COMPUTE, costs, reach, costs.compute.at(reach.size))
        return
    fan, is_split = plan.fans[0], plan.strategy is SpreadStrategy.SPLIT
    part = _Reach(
        reach.size / fan if is_split else reach.size,
        reach.share if is_split else reach.share / fan,
        reach.level + 1,
        reach.copies * fan,
    )
    items = fan if is_split else 1  # that go to branches and come back, for one window
    out, back = (costs.splits[fan], costs.combines[fan]) if is_split else (costs.route, costs.merge)
    yield _site(
        Phase.PARTITION, costs, reach, out.at(reach.size), send=items * costs.send.at(part.size)
    )
    yield from _sites(plan.inner(), costs, part)
    yield _site(
        Phase.COMBINE,
        costs,
        reach,
        back.at(reach.size),
        receive=items * costs.receive.at(part.size),
    )


def _site(
    phase: Phase,
    costs: Costs,
    reach: _Reach,
    process: float,
    *,
    receive: float | None = None,
    send: float | None = None,
) -> Site:
    """Return a site that takes a window in and gives one out, but for what is said otherwise."""
    received = costs.receive.at(reach.size) if receive is None else receive
    sent = costs.send.at(reach.size) if send is None else send
    share = reach.share
    return Site(
        phase,
        reach.level,
        reach.copies,
        share * received,
        share * process,
        share * sent,
        share * costs.system,
    )
