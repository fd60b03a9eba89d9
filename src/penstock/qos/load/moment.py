"""Moment: what quality of service sees every half second or so, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.qos.load.network import Edge


@dataclass(frozen=True, slots=True)
class LoadSample:
    """What is seen: tuples a second that came since the last time, and the rows that wait."""

    rates: Mapping[str, float]
    queued: Mapping[Edge, float]


@dataclass(frozen=True, slots=True)
class Measures:
    """What is done about it: gates by edge, and queries that are suspended."""

    keeps: Mapping[Edge, float] = field(default_factory=dict)
    suspended: frozenset[str] = frozenset()
