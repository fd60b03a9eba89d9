"""Utilization: the share of its time that the busiest part of a system is at work.

What has reached 1 can do no more, whatever else is idle (Denning and Buzen, The Operational
Analysis of Queueing Network Models, 1978). The parts are all slots together, and whatever does one
thing at a time: each unit, each source, the supervisor. Who is short of a core takes longer, which
shows in these shares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TimeShares:
    """The shares of the time that units run, sources are read and the supervisor takes steps."""

    units: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, float] = field(default_factory=dict)
    supervisor: float = 0.0

    def utilization(self, slots: float) -> float:
        """Return the share of its time that the busiest part is at work."""
        alone = (*self.units.values(), *self.sources.values(), self.supervisor)
        return max(sum(self.units.values()) / slots, *alone)
