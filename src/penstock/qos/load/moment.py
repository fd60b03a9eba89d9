"""Moment: what quality of service sees every half second or so, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.qos.load.network import Edge
from penstock.schedule.costs.sizes import Sizes


@dataclass(frozen=True, slots=True)
class LoadSample:
    """What is seen: tuples a second that came since the last time, and what waits.

    `queued` are rows by edge, `ages` the seconds that the oldest of them has waited, by node.
    Where it was measured, `sizes` tell by node what runs took by their tuples, and `lengths` the
    most tuples that a run of it takes; without them a tuple costs what the network says.
    """

    rates: Mapping[str, float]
    queued: Mapping[Edge, float]
    ages: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    lengths: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measures:
    """What is done about it: gates by edge, and queries that are suspended."""

    keeps: Mapping[Edge, float] = field(default_factory=dict)
    suspended: frozenset[str] = frozenset()
