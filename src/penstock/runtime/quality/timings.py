"""Timings: who is at work for which share of the time, and how old rows are when they get on.

Only the supervisor's thread, or a thread while quiesced, adds to them; others may look meanwhile.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from penstock.model.trains import TrainInfo
from penstock.qos.load.utilization import TimeShares
from penstock.qos.monitor.activity import HALF_LIFE_SECONDS, NO_ACTIVITY, Activity
from penstock.runtime.topology.topology import Topology
from penstock.schedule.costs.observation import UNMEASURED, Average


@dataclass(frozen=True, slots=True)
class Age:
    """Mean seconds of rows as their trains were put into a buffer (decision 0043).

    `delay` is since they could be given, `held` from the newest tuple in them until then.
    """

    delay: Average = UNMEASURED
    held: Average = UNMEASURED

    def add(self, trains: Iterable[TrainInfo], now: float) -> "Age":
        """Return it with the rows of some trains more."""
        rows, delay, held = 0, 0.0, 0.0
        for each in trains:
            rows += each.rows
            delay += each.rows * (now - each.ready)
            held += each.rows * (each.ready - each.arrived)
        if not rows:
            return self
        return Age(
            self.delay.add(max(0.0, delay / rows), now, weight=rows, half_life=HALF_LIFE_SECONDS),
            self.held.add(max(0.0, held / rows), now, weight=rows, half_life=HALF_LIFE_SECONDS),
        )


NO_AGE = Age()


@dataclass(slots=True)
class Timings:
    """By the keys of units and streams; ages also by the names of queries as readers."""

    activities: dict[str, Activity] = field(default_factory=dict)
    supervisor: Activity = NO_ACTIVITY
    ages: dict[str, Age] = field(default_factory=dict)

    def worked(self, name: str, seconds: float, now: float) -> None:
        """Note that a unit or the reader of a stream was at work until now, hand-overs and all."""
        self.activities[name] = self.activities.get(name, NO_ACTIVITY).add(seconds, now)

    def supervised(self, seconds: float, now: float) -> None:
        """Note a step of the supervisor."""
        self.supervisor = self.supervisor.add(seconds, now)

    def appended(self, name: str, trains: Iterable[TrainInfo], now: float) -> None:
        """Note how old the rows of a unit's or a stream's new trains are, or those handed over."""
        self.ages[name] = self.age(name).add(trains, now)

    def age(self, name: str) -> Age:
        """Return how old the rows of a unit, a stream or a query are."""
        return self.ages.get(name, NO_AGE)

    def handing_over(self, topology: Topology) -> dict[str, float]:
        """Return how much older the rows of each query that has some are than its input's."""
        found = {}
        for name, query in topology.queries.items():
            writer = topology.writers.get(query.input)
            before = self.age(query.input if writer is None else writer.unit.key).delay
            after = self.age(query.reader).delay
            if before.weight > 0 and after.weight > 0:
                found[name] = after.value - before.value
        return found

    def share(self, name: str, now: float) -> float:
        """Return the share of the time that a unit or the reader of a stream is at work."""
        return self.activities.get(name, NO_ACTIVITY).share(now)

    def frequency(self, name: str, now: float) -> float:
        """Return how many trains a second a unit or a stream gives."""
        return self.activities.get(name, NO_ACTIVITY).frequency(now)

    def time_shares(self, topology: Topology, now: float) -> TimeShares:
        """Return the shares of the time of all that runs."""
        return TimeShares(
            {name: self.share(name, now) for name in list(topology.units)},
            {name: self.share(name, now) for name in list(topology.source_readers)},
            self.supervisor.share(now),
        )

    def forget_all_but(self, names: Collection[str]) -> None:
        """Drop what is known of units that are gone or have changed."""
        self.activities = {name: each for name, each in self.activities.items() if name in names}
        self.ages = {name: each for name, each in self.ages.items() if name in names}
