"""Two forms of the join: let go by count, as printed (3.6 to 3.8), and by key, as Penstock does.

Both with figures that are known, and with such as are measured while the streams come.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.experiments.thesis.joins.lifetimes import NEVER
from penstock.experiments.thesis.joins.streams import KeyedStream, Times
from penstock.qos.joins.bounds import MATCHING
from penstock.qos.joins.hindsight import Keys
from penstock.qos.monitor.order import Order

Bounds = npt.NDArray[np.float64]
NOTHING = np.iinfo(np.int64).min
MARGIN, AT_FIRST = 2, 64  # what Penstock keeps of a factor that is measured (decision 0074)


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """What the model asks at some moments: factors, and by pairs what a sum of (3.7) is made of.

    `settling` is r_i k_j / r_j, `lags` is L.
    """

    factors: Sequence[int]
    settling: Sequence[Sequence[Times]]
    lags: Sequence[Sequence[Times]]


def moments(streams: Sequence[KeyedStream]) -> Times:
    """Return when something comes."""
    times: Times = np.concatenate([each.times for each in streams])
    return np.sort(times)


def at_present_rates(
    streams: Sequence[KeyedStream], factors: Sequence[int], when: Times
) -> list[list[Times]]:
    """Return r_i k_j / r_j of all pairs with the rates that hold at the moments."""
    rates = [each.rate_at(when) for each in streams]
    return [[mine * k / its for its, k in zip(rates, factors, strict=True)] for mine in rates]


def while_settling(
    streams: Sequence[KeyedStream], factors: Sequence[int], when: Times
) -> list[list[Times]]:
    """Return how many tuples of i came while the last k_j of j did, of all pairs.

    That is what r_i k_j / r_j stands for, and what it is while rates stay as they are.
    """
    since = []
    for stream, factor in zip(streams, factors, strict=True):
        settled = stream.came(when) - factor
        began = stream.times[np.maximum(settled, 1) - 1]
        since.append(np.where(settled > 0, began, -1.0))
    return [[(one.came(when) - one.came(each)).astype(float) for each in since] for one in streams]


def true_figures(streams: Sequence[KeyedStream], factors: Sequence[int], when: Times) -> Figures:
    """Return what is known of streams with these factors, and the lags with hindsight."""
    lags = [[_lags(one, other, when) for other in streams] for one in streams]
    return Figures(factors, while_settling(streams, factors, when), lags)


def _lags(one: KeyedStream, other: KeyedStream, when: Times) -> Times:
    """Return L at τ' (3.7): when what stands at the latest tuple's sorted place has come."""
    latest = np.maximum(other.came(when), 1) - 1
    keys = other.keys[latest]
    sorted_place = np.searchsorted(np.sort(other.keys), keys, side="right") - 1
    kin = np.searchsorted(np.sort(one.keys), keys, side="right")
    lags: Times = (one.came(other.times[sorted_place]) - kin).astype(float)
    return lags


def printed_bounds(figures: Figures) -> list[Bounds]:
    """Return how many tuples (3.7) and (3.8) keep of each stream, with the one of ledger C11."""
    places = range(len(figures.factors))
    found = []
    for place in places:
        others = [at for at in places if at != place]
        asked = [figures.settling[place][at] + figures.lags[place][at] for at in others]
        most = figures.factors[place] + np.max(asked, axis=0)
        found.append(np.maximum(1, np.ceil(most)) + MATCHING)
    return found


def by_count(stream: KeyedStream, when: Times, bound: Bounds) -> Times:
    """Return until when each tuple is there if the newest `bound` of them are."""
    gone = np.maximum.accumulate(stream.came(when) - bound)
    first = np.searchsorted(gone, np.arange(len(stream.keys)), side="right")
    return np.append(when, NEVER)[first]


def by_key(streams: Sequence[KeyedStream], when: Times, passed: Sequence[Keys]) -> list[Times]:
    """Return until when tuples are there if they go once all others have passed their keys."""
    found = []
    for place, stream in enumerate(streams):
        others = np.min([each for at, each in enumerate(passed) if at != place], axis=0)
        found.append(reached(when, others, stream.keys))
    return found


def passed_keys(stream: KeyedStream, when: Times) -> Keys:
    """Return what a stream has passed at some moments, its factor being known."""
    greatest = np.maximum.accumulate(stream.keys)
    settled = stream.came(when) - stream.factor
    return np.where(settled > 0, greatest[np.maximum(settled, 1) - 1], NOTHING)


def reached(when: Times, values: Keys, keys: Keys) -> Times:
    """Return when values that never fall reach each key."""
    return np.append(when, NEVER)[np.searchsorted(values, keys, side="left")]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What is known at each tick: the bounds as printed, and what each stream has passed."""

    when: Times
    bounds: list[Bounds]
    passed: list[Keys]


def measured(streams: Sequence[KeyedStream], seconds: float, tick: float) -> Measured:
    """Watch streams with the figures that Penstock measures, train by train."""
    when: Times = np.arange(1, int(np.ceil(seconds / tick)) + 1, dtype=np.float64) * tick
    bounds = [np.zeros(len(when)) for _ in streams]
    passed = [np.full(len(when), NOTHING) for _ in streams]
    counts = [each.came(when) for each in streams]
    for moment, orders in enumerate(_watched(streams, counts)):
        now = _bounds(streams, orders, when[moment : moment + 1])
        for place, order in enumerate(orders):
            bounds[place][moment] = now[place]
            known = order.passed(max(AT_FIRST, MARGIN * order.factor))
            passed[place][moment] = NOTHING if known is None else known
    return Measured(when, bounds, [np.maximum.accumulate(each) for each in passed])


def _watched(streams: Sequence[KeyedStream], counts: Sequence[Keys]) -> Iterator[list[Order]]:
    orders, before = [Order() for _ in streams], [0 for _ in streams]
    for moment in range(len(counts[0])):
        now = [int(each[moment]) for each in counts]
        orders = [
            order.add(stream.keys[begin:end])
            for order, stream, begin, end in zip(orders, streams, before, now, strict=True)
        ]
        before = now
        yield orders


def _bounds(streams: Sequence[KeyedStream], orders: Sequence[Order], when: Times) -> list[float]:
    """Return the bounds as printed by what has been seen up to a moment."""
    factors = [each.factor for each in orders]
    lags = [[np.array([float(one.lag_to(other))]) for other in orders] for one in orders]
    figures = Figures(factors, while_settling(streams, factors, when), lags)
    return [float(each[0]) for each in printed_bounds(figures)]
