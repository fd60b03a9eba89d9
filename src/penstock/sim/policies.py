"""Policies: what a simulated system does about overload; the one that is real asks a `Keeper`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from penstock.qos.contracts.contracts import Contract, Sampling, limits_of
from penstock.qos.contracts.keeper import Keeper
from penstock.qos.contracts.suspension import Candidates, Promised, heaviest
from penstock.qos.load.forecast import Forecast, Usual
from penstock.qos.load.moment import LoadSample, Measures
from penstock.qos.load.network import Network
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.controller import Rule
from penstock.qos.shedding.gates import LEAST_KEEP


class Policy(Protocol):
    """One decision, every moment."""

    def decide(self, seen: LoadSample, now: float) -> Measures:
        """Return the measures that hold from now on."""
        ...


class Nothing:
    """Lets everything wait."""

    def decide(self, seen: LoadSample, now: float) -> Measures:
        return Measures()


class UniformDrop:
    """Drops at the sources alone, the same share of every stream."""

    def __init__(self, network: Network, rule: Rule | None = None) -> None:
        """Begin with everything."""
        self._forecast, self._rule = Forecast(network), rule or Rule()

    def decide(self, seen: LoadSample, now: float) -> Measures:
        rule = self._rule
        self._forecast.see(seen.rates, now)
        outlooks = self._forecast.outlooks(seen, rule.usual_seconds)
        demand = max(
            each.demand(rule.drain_seconds, rule.usual_seconds) for each in outlooks.values()
        )
        if demand <= rule.start:
            return Measures()
        keep = max(LEAST_KEEP, rule.goal / demand)
        network = self._forecast.network
        return Measures({edge: keep for edge in network.arriving if edge[0] in network.rates})


class ByContracts:
    """Lets a keeper decide, as it does on Spark; costs and samples are known exactly here."""

    def __init__(
        self,
        network: Network,
        contracts: Mapping[str, Contract],
        samplings: Mapping[str, tuple[str, Sampling]],
    ) -> None:
        """Take contracts and, of aggregates, the stream and what a group has at a rate of one."""
        self._keeper = Keeper()
        self.adopt(network, contracts, samplings)

    def adopt(
        self,
        network: Network,
        contracts: Mapping[str, Contract],
        samplings: Mapping[str, tuple[str, Sampling]],
    ) -> None:
        """Go on with other figures, or after queries have come or gone."""
        self._network, self._contracts, self._samplings = network, contracts, samplings
        away = self._keeper.suspended.queries.items()
        still = {query: each for query, each in away if query in network.roots}
        self._keeper.suspended = replace(self._keeper.suspended, queries=still)

    def decide(self, seen: LoadSample, now: float) -> Measures:
        keeper = self._keeper
        keeper.see(seen.rates, now)
        running = self._network.without(frozenset(keeper.suspended.queries))
        keeper.adopt(running)
        keeper.look(seen, self._promised(running))
        limits = limits_of(self._contracts, self._sampled())
        keeper.shed(limits, now)
        if keeper.is_strained:
            keeper.suspend(self._candidates(limits), now)
        else:
            keeper.suspend_nobody(now)
        gone = frozenset(keeper.suspended.queries)
        left = self._network.without(gone).arriving
        keeps = keeper.shedding.placement.keeps
        return Measures({edge: keep for edge, keep in keeps.items() if edge in left}, gone)

    def _promised(self, running: Network) -> Promised:
        """Return the shortest latency of those that each node works for."""
        shortest = {
            name: min(self._contracts[query].max_latency for query in running.queries_above[name])
            for name in running.nodes
        }
        return Promised(shortest)

    def _sampled(self) -> dict[str, Sampling]:
        usual = self._keeper.forecast.usual
        return {
            query: replace(each, rows=each.rows * usual.get(stream, Usual()).low)
            for query, (stream, each) in self._samplings.items()
        }

    def _candidates(self, limits: Mapping[str, Limit]) -> Candidates:
        rates = {name: self._keeper.forecast.level(name) for name in self._network.rates}
        network = replace(self._network, rates=rates)
        spare = heaviest(self._network.roots, limits)
        return Candidates(network, limits, spare, self._keeper.is_short)
