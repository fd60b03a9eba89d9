"""Policies: what a simulated system does about overload, from what it sees every moment."""

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
from penstock.schedule.observation import UNMEASURED

AHEAD_SECONDS = 2.0
WINDOW_SECONDS = 10.0  # of aggregates


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
        self._rates = dict.fromkeys(network.rates, UNMEASURED)  # over about a window
        self.shedding: Shedding = NOT_SHEDDING
        self.suspended: Suspended = NOBODY

    def decide(self, seen: Moment, now: float) -> Measures:
        outlooks = self._forecast.outlooks(seen, now)
        self._rates = {
            name: each.add(seen.rates.get(name, 0.0), now, half_life=WINDOW_SECONDS / 2)
            for name, each in self._rates.items()
        }
        samplings = {
            query: replace(each, rows=each.rows * self._rates[stream].or_else(0.0))
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
