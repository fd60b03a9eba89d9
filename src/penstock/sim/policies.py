"""Policies: what a simulated system does about overload, from what it sees every moment."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from penstock.qos.contracts import Contract, Sampling, limits_of
from penstock.qos.controller import NOT_SHEDDING, Rule, Shedding, adjusted
from penstock.qos.gates import LEAST_KEEP
from penstock.qos.load import Outlook, backlog_of, load_of
from penstock.qos.network import Edge, Network
from penstock.qos.trend import Trend
from penstock.qos.victims import NOBODY, Suspended, suspended
from penstock.schedule.observation import UNMEASURED, Average

AHEAD_SECONDS = 2.0
WINDOW_SECONDS = 10.0  # of aggregates
LONG_SECONDS = 60.0  # half life of what windows usually have
NINE_OF_TEN = 1.2816  # standard deviations of a normal distribution


@dataclass(frozen=True, slots=True)
class Moment:
    """What is seen: tuples a second that came since the last time, and the rows that wait."""

    rates: Mapping[str, float]
    queued: Mapping[Edge, float]


@dataclass(frozen=True, slots=True)
class Measures:
    """What is done about it: gates by edge, and queries that are suspended."""

    keeps: Mapping[Edge, float] = field(default_factory=dict)
    suspended: frozenset[str] = frozenset()


class Policy(Protocol):
    """One decision, every moment."""

    def decide(self, seen: Moment, now: float) -> Measures:
        """Return the measures that hold from now on."""
        ...


class Nothing:
    """Lets everything wait."""

    def decide(self, seen: Moment, now: float) -> Measures:
        return Measures()


@dataclass(frozen=True, slots=True)
class Usual:
    """The mean rate of about a window, and how it varies from window to window."""

    window: Average = UNMEASURED
    mean: Average = UNMEASURED
    square: Average = UNMEASURED

    def add(self, rate: float, now: float) -> "Usual":
        """Return it with one more sample."""
        window = self.window.add(rate, now, half_life=WINDOW_SECONDS / 2)
        mean = self.mean.add(window.value, now, half_life=LONG_SECONDS)
        return Usual(window, mean, self.square.add(window.value**2, now, half_life=LONG_SECONDS))

    @property
    def low(self) -> float:
        """Return a rate that nine windows of ten exceed, or that of this one if it is lower."""
        mean = self.mean.or_else(0.0)
        spread = math.sqrt(max(0.0, self.square.or_else(0.0) - mean**2))
        return max(0.0, min(self.window.or_else(0.0), mean - NINE_OF_TEN * spread))


class Forecast:
    """The rates that come, and how the processors stand with them."""

    def __init__(self, network: Network) -> None:
        """Know nothing of the rates yet."""
        self.network = network
        self._trends = dict.fromkeys(network.rates, Trend())

    def outlooks(self, seen: Moment, now: float) -> dict[str, Outlook]:
        """Return how each processor stands, without any gate."""
        self._trends = {
            name: trend.add(seen.rates.get(name, 0.0), now) for name, trend in self._trends.items()
        }
        present = load_of(self.present())
        ahead, waits = load_of(self.ahead()), backlog_of(self.network, seen.queued)
        return {name: Outlook(present[name], ahead[name], waits[name]) for name in present}

    def present(self) -> Network:
        """Return the network with the rates of now."""
        return self.at({name: trend.level for name, trend in self._trends.items()})

    def ahead(self) -> Network:
        """Return the network with the rates of the next seconds."""
        return self.at({name: trend.high(AHEAD_SECONDS) for name, trend in self._trends.items()})

    def at(self, rates: Mapping[str, float]) -> Network:
        """Return the network with other rates."""
        return replace(self.network, rates=rates)


class UniformDrop:
    """Drops at the sources alone, the same share of every stream."""

    def __init__(self, network: Network, rule: Rule | None = None) -> None:
        """Begin with everything."""
        self._forecast, self._rule = Forecast(network), rule or Rule()

    def decide(self, seen: Moment, now: float) -> Measures:
        outlooks = self._forecast.outlooks(seen, now)
        rule = self._rule
        demand = max(
            each.demand(rule.drain_seconds, rule.usual_seconds) for each in outlooks.values()
        )
        if demand <= rule.start:
            return Measures()
        keep = max(LEAST_KEEP, rule.goal / demand)
        network = self._forecast.network
        return Measures({edge: keep for edge in network.arriving if edge[0] in network.rates})


class KeepContracts:
    """Sheds by place weight within what contracts allow, and suspends where that is too little."""

    def __init__(
        self,
        network: Network,
        contracts: Mapping[str, Contract],
        samplings: Mapping[str, tuple[str, Sampling]],
        rule: Rule | None = None,
    ) -> None:
        """Take contracts and, of aggregates, the stream and what a group has at a rate of one."""
        self._forecast, self._rule = Forecast(network), rule or Rule()
        self._contracts, self._samplings = contracts, samplings
        self._rates = dict.fromkeys(network.rates, Usual())
        self.shedding: Shedding = NOT_SHEDDING
        self.suspended: Suspended = NOBODY

    def decide(self, seen: Moment, now: float) -> Measures:
        outlooks = self._forecast.outlooks(seen, now)
        self._rates = {
            name: each.add(seen.rates.get(name, 0.0), now) for name, each in self._rates.items()
        }
        samplings = {
            query: replace(each, rows=each.rows * self._rates[stream].low)
            for query, (stream, each) in self._samplings.items()
        }
        limits = limits_of(self._contracts, samplings)
        network = self._forecast.ahead()
        self.suspended = suspended(self.suspended, self._forecast.present(), limits, now)
        gone = frozenset(self.suspended.queries)
        running = network.without(gone)
        loads = load_of(running)
        left = {
            name: replace(each, load=min(each.load, loads[name]), ahead=loads[name])
            for name, each in outlooks.items()
        }
        self.shedding = adjusted(self.shedding, running, left, limits, now, self._rule)
        return Measures(self.shedding.placement.keeps, gone)
