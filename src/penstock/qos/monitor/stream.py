"""Stream: all measures of one stream, fed train by train."""

import math
from dataclasses import dataclass, field, replace

import pyarrow as pa

from penstock.qos.monitor.clustering import Clustering
from penstock.qos.monitor.columns import codes_of, seconds_of
from penstock.qos.monitor.keys import Keys
from penstock.qos.monitor.order import Order
from penstock.qos.monitor.sampler import RateSampler
from penstock.qos.monitor.slack import Slack

DISTANCE = 8  # tuples between two of one value that are still near


@dataclass(frozen=True, slots=True)
class Properties:
    """What a stream is like, for people and deciders; NaN where it was not measured."""

    rate: float
    burstiness: float
    scrambling: int
    multiplicity: int
    slack: float
    clock_jumps: int
    clustered: float
    keys: float
    skew: float


@dataclass(frozen=True, slots=True, eq=False)
class StreamMonitor:
    """What is measured of a stream: its rate, the order of its times, and one column of keys.

    Times are measured in every train, as slack depends on them; keys, which cost more, in those
    trains in which the rate is looked at, too.
    """

    time_column: str | None = None
    key_column: str | None = None
    tuples: int = 0
    sampler: RateSampler = field(default_factory=RateSampler)
    order: Order = field(default_factory=Order)
    slack: Slack = field(default_factory=Slack)
    clustering: Clustering = field(default_factory=lambda: Clustering(DISTANCE))
    keys: Keys = field(default_factory=Keys)

    def add(self, train: pa.Table, now: float) -> "StreamMonitor":
        """Return the monitor after one more train, which may be empty."""
        tuples = self.tuples + train.num_rows
        found = replace(self, tuples=tuples, sampler=self.sampler.look(tuples, now))
        if self.time_column is not None and train.num_rows:
            times = train.column(self.time_column)
            found = replace(
                found,
                order=self.order.add(codes_of(times)),
                slack=self.slack.add(seconds_of(times), now),
            )
        is_due = found.sampler is not self.sampler
        if self.key_column is not None and train.num_rows and is_due:
            codes = codes_of(train.column(self.key_column))
            found = replace(found, clustering=self.clustering.add(codes), keys=self.keys.add(codes))
        return found

    def properties(self) -> Properties:
        """Return what is known by now."""
        timed, keyed = self.order.tuples > 0, self.keys.tuples > 0
        return Properties(
            self.sampler.rate,
            self.sampler.burstiness,
            self.order.factor,
            self.order.multiplicity,
            self.slack.slack() if timed else math.nan,
            self.slack.jumps,
            self.clustering.share if keyed else math.nan,
            self.keys.cardinality if keyed else math.nan,
            self.keys.skew if keyed else math.nan,
        )
