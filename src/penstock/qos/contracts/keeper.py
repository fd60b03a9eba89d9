"""Keeper: all that is decided about load while queries run, from one moment to the next.

Foresee the rates; place gates within what contracts allow; suspend where that is too little. Time
and everything that is seen are passed in, so that the same moments give the same measures. One
system looks at Spark through it, another at a virtual clock: what it decides is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.qos.contracts.suspension import (
    NOBODY,
    Candidates,
    Promised,
    Suspended,
    behind_by,
    calmed,
    suspended,
)
from penstock.qos.load.forecast import Forecast
from penstock.qos.load.load import Outlook
from penstock.qos.load.moment import LoadSample
from penstock.qos.load.network import Network
from penstock.qos.load.tuning import CALM, SURE_SECONDS
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.controller import NOT_SHEDDING, Rule, Shedding, adjusted

Limits = Mapping[str, Limit]
NOTHING_PROMISED = Promised({}, are_asking=False)
NOTHING_SEEN = LoadSample({}, {})


@dataclass(slots=True)
class Keeper:
    """Sheds by place weight within what contracts allow, and suspends where that is too little.

    Of what runs: who is suspended has no node in the network. In this order: `see` the rates,
    `adopt` the network, `look` how much there is to do, then `shed` and `suspend`.
    """

    forecast: Forecast = field(default_factory=lambda: Forecast(Network({}, {}, {})))
    shedding: Shedding = NOT_SHEDDING
    suspended: Suspended = NOBODY
    outlooks: Mapping[str, Outlook] = field(default_factory=dict)
    seen: LoadSample = NOTHING_SEEN
    promised: Promised = NOTHING_PROMISED
    _over_since: float | None = None

    @property
    def rule(self) -> Rule:
        """Return how hard it sheds."""
        return Rule.of(self.promised.shortest)

    @property
    def demand(self) -> float:
        """Return the load, with what waits, of the processor that has most to do."""
        rule = self.rule
        found = (e.demand(rule.drain_seconds, rule.usual_seconds) for e in self.outlooks.values())
        return max(found, default=0.0)

    @property
    def is_calm(self) -> bool:
        """Say whether the load is far below capacity, so that nothing has to give way."""
        return not (self.shedding.is_active or self.suspended.queries) and self.demand < CALM

    def see(self, rates: Mapping[str, float], now: float) -> None:
        """Note the rates of streams since the last time."""
        self.forecast.see(rates, now)

    def adopt(self, network: Network) -> None:
        """Go on with figures that were measured anew, or after queries have come or gone.

        Gates on edges that are no more are gone with them; the next decision places them anew.
        """
        if network.nodes.keys() != self.forecast.network.nodes.keys():
            self.shedding = NOT_SHEDDING
        self.forecast.adopt(network)

    def look(self, seen: LoadSample, promised: Promised) -> None:
        """See how much there is to do, now and soon, whether or not something gives way for it."""
        self.seen, self.promised = seen, promised
        self.outlooks = self.forecast.outlooks(seen, self.rule.usual_seconds)

    def shed(self, limits: Limits, now: float) -> None:
        """Place gates, or take them away, by what is foreseen."""
        if not self._is_sure(now):
            self.shedding = NOT_SHEDDING  # what was too much once says nothing any more
        else:
            soon, rule = self.forecast.ahead(self.seen, self.rule.usual_seconds), self.rule
            self.shedding = adjusted(self.shedding, soon, self.outlooks, limits, now, rule)

    def stop_shedding(self) -> None:
        """Do without any gate: there are none."""
        self.shedding = NOT_SHEDDING

    @property
    def is_strained(self) -> bool:
        """Say whether somebody may have to go, or to come back."""
        return bool(self.behind or self.suspended.queries)

    def suspend(self, candidates: Candidates, now: float) -> None:
        """Decide who goes and who comes back."""
        self.suspended = suspended(self.suspended, candidates, self.behind, self.promised, now)

    def suspend_nobody(self, now: float) -> None:
        """Forget for how long a promise was broken: it is not any more."""
        self.suspended = calmed(self.suspended, now)

    @property
    def behind(self) -> float:
        """Return how many seconds what waits is behind a promise, 0 where it is not."""
        network = self.present
        return max(
            (behind_by(network, o, self.seen.ages, self.promised) for o in self.outlooks.values()),
            default=0.0,
        )

    @property
    def present(self) -> Network:
        """Return what runs at the rates of now."""
        return self.forecast.present(self.seen, self.rule.usual_seconds)

    @property
    def is_short(self) -> bool:
        """Say whether all is shed that may be, and more would have to be."""
        return any(each > 0 for each in self.shedding.placement.short.values())

    def _is_sure(self, now: float) -> bool:
        """Say whether to believe what is foreseen: first runs of a new size tell what they cost.

        Nothing is lost by that: what waits before a gate can still be dropped.
        """
        if self.demand <= self.rule.start:
            self._over_since = None
        elif self._over_since is None:
            self._over_since = now
        wait = min(SURE_SECONDS, self.rule.usual_seconds)
        since = now if self._over_since is None else self._over_since
        return self.shedding.is_active or now - since >= wait
