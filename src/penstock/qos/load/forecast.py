"""Forecast: the rates of the next seconds, and how the processors stand with them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.qos.load.load import Outlook, backlog_of, load_of
from penstock.qos.load.moment import LoadSample
from penstock.qos.load.network import Network
from penstock.qos.load.trend import Trend
from penstock.schedule.costs.observation import UNMEASURED, Average

AHEAD_SECONDS = 2.0
WINDOW_SECONDS = 10.0  # over which a rate is that of a window
LONG_SECONDS = 60.0  # half life of what windows usually have
NINE_OF_TEN = 1.2816  # standard deviations of a normal distribution


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

    def adopt(self, network: Network) -> None:
        """Go on with other costs, or another graph; what is known of streams that stay is kept."""
        self.network = network
        self._trends = {name: self._trends.get(name, Trend()) for name in network.rates}

    def outlooks(self, seen: LoadSample, now: float) -> dict[str, Outlook]:
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
