"""Policies: what a simulated system does about overload; the one that is real is `qos.Keeper`."""

from typing import Protocol

from penstock.qos.load.forecast import Forecast
from penstock.qos.load.moment import LoadSample, Measures
from penstock.qos.load.network import Network
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
