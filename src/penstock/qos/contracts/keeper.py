"""Keeper: all that is decided about load while queries run, from one moment to the next.

Foresee the rates; suspend where even all that may be shed is too little; place gates for the rest.
Time and everything that is seen are passed in, so that the same moments give the same measures.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from penstock.qos.contracts.contracts import Contract, Sampling, limits_of
from penstock.qos.contracts.suspension import NOBODY, Suspended, suspended
from penstock.qos.load.forecast import Forecast, Usual
from penstock.qos.load.load import Outlook, load_of
from penstock.qos.load.moment import LoadSample, Measures
from penstock.qos.load.network import Network
from penstock.qos.shedding.controller import NOT_SHEDDING, Rule, Shedding, adjusted

PRESSED = 1.0  # of the tightest max_latency


class Keeper:
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

    def _is_pressed(self, outlooks: Mapping[str, Outlook]) -> bool:
        """Say whether what waits may soon make somebody late."""
        tightest = min((each.max_latency for each in self._contracts.values()), default=math.inf)
        return any(each.wait > PRESSED * tightest for each in outlooks.values())

    def _lasting(self) -> Network:
        """Return the network with rates of about a window: a short burst is waited for."""
        return self._forecast.at(
            {name: each.window.or_else(0.0) for name, each in self._rates.items()}
        )

    def adopt(
        self,
        network: Network,
        contracts: Mapping[str, Contract],
        samplings: Mapping[str, tuple[str, Sampling]],
    ) -> None:
        """Go on with figures that were measured anew, or after queries have come or gone.

        Gates on edges that are no more are gone with them; the next decision places them anew.
        """
        if network.nodes.keys() != self._forecast.network.nodes.keys():
            self.shedding = NOT_SHEDDING
        still = {q: each for q, each in self.suspended.queries.items() if q in network.roots}
        self.suspended = Suspended(still)
        self._forecast.adopt(network)
        self._contracts, self._samplings = contracts, samplings
        self._rates = {name: self._rates.get(name, Usual()) for name in network.rates}

    def decide(self, seen: LoadSample, now: float) -> Measures:
        """Return the gates and suspensions that hold from now on."""
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
        present = self._forecast.present() if self._is_pressed(outlooks) else self._lasting()
        self.suspended = suspended(self.suspended, present, limits, now)
        gone = frozenset(self.suspended.queries)
        running = network.without(gone)
        loads = load_of(running)
        left = {
            name: replace(each, load=min(each.load, loads[name]), ahead=loads[name])
            for name, each in outlooks.items()
        }
        self.shedding = adjusted(self.shedding, running, left, limits, now, self._rule)
        return Measures(self.shedding.placement.keeps, gone)
