"""The laws of joins without windows, by brute force over small streams."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.qos.joins.bounds import buffer_bound, factor_by_other_key, joined_factor, joined_rate
from penstock.qos.joins.figures import InputFigures
from penstock.qos.joins.hindsight import lag, multiplicity, scrambling_factor
from penstock.qos.joins.release import let_go_until
from penstock.qos.monitor.order import Order

RATES = st.sampled_from([1.0, 2.0, 3.0, 0.5])


@dataclass(frozen=True)
class Stream:
    keys: np.ndarray
    rate: float
    starts: float

    @property
    def factor(self) -> int:
        return scrambling_factor(self.keys)

    def came(self, when: float) -> int:
        """Return how many tuples have come up to a moment."""
        return int(np.clip(math.floor((when - self.starts) * self.rate) + 1, 0, len(self.keys)))

    def at(self, position: int) -> float:
        return self.starts + (position - 1) / self.rate


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Draw a stream by its disorder, its duplicates, its rate and when it starts."""
    length, copies = draw(st.integers(1, 25)), draw(st.integers(1, 3))
    swaps = draw(st.lists(st.tuples(st.integers(0, 24), st.integers(0, 6)), max_size=6))
    keys = [place // copies for place in range(length)]
    for at, far in swaps:
        one, other = at % length, min(length - 1, at % length + far)
        keys[one], keys[other] = keys[other], keys[one]
    return Stream(np.array(keys), draw(RATES), draw(st.sampled_from([0.0, 0.5, 3.0, 12.0])))


def arrivals(all_streams: Sequence[Stream]) -> list[tuple[float, int, int]]:
    """Return when which position of which stream comes, in order."""
    return sorted(
        (each.at(position), which, position)
        for which, each in enumerate(all_streams)
        for position in range(1, len(each.keys) + 1)
    )


def joined(all_streams: Sequence[Stream], cuts: Sequence[int]) -> tuple[set, list]:
    """Return the combinations that a join gives, run by run, and what it keeps after each."""
    coming = arrivals(all_streams)
    places = sorted({*(cut % (len(coming) + 1) for cut in cuts), len(coming)})
    orders, kept = [Order() for _ in all_streams], [[] for _ in all_streams]
    found, told, begin = set(), [], 0
    for end in places:
        for _, which, position in coming[begin:end]:
            key = int(all_streams[which].keys[position - 1])
            orders[which] = orders[which].add(np.array([key]))
            partners = [
                [(which, position)]
                if at == which
                else [each[1:] for each in kept[at] if each[0] == key]
                for at in range(len(all_streams))
            ]
            found |= set(product(*partners))
            kept[which].append((key, which, position))
        now = coming[end - 1][0] if end else 0.0
        passed = [
            order.passed(each.factor) for order, each in zip(orders, all_streams, strict=True)
        ]
        for at in range(len(kept)):
            until = let_go_until(passed, at)
            kept[at] = [each for each in kept[at] if until is None or each[0] > until]
        if end:
            told.append((now, end, [len(each) for each in kept]))
        begin = end
    return found, told


def every(all_streams: Sequence[Stream]) -> set:
    """Return all combinations of tuples with equal keys."""
    sides = [
        [(which, position) for position in range(1, len(each.keys) + 1)]
        for which, each in enumerate(all_streams)
    ]
    return {
        each
        for each in product(*sides)
        if len({int(all_streams[which].keys[position - 1]) for which, position in each}) == 1
    }


def settled_at(one: Stream, other: Stream, came: Sequence[int]) -> tuple[float, tuple[int, int]]:
    """Return when the other's settled tuple came (τ'), and how many of both had come by then."""
    settled = came[1] - other.factor
    if settled < 1:
        when = other.starts
        return when, (min(came[0], one.came(when)), 0)
    return other.at(settled), (min(came[0], one.came(other.at(settled))), settled)


@settings(max_examples=150, deadline=None)
@given(st.lists(streams(), min_size=2, max_size=3), st.lists(st.integers(0, 75), max_size=8))
def test_with_true_factors_the_join_is_complete_however_it_is_cut(
    found: list[Stream], cuts: list[int]
) -> None:
    assert joined(found, cuts)[0] == every(found)


@settings(max_examples=150, deadline=None)
@given(st.lists(streams(), min_size=2, max_size=3), st.lists(st.integers(0, 75), max_size=8))
def test_with_true_figures_no_buffer_is_above_its_bound(
    found: list[Stream], cuts: list[int]
) -> None:
    coming = arrivals(found)
    over = min(each.at(len(each.keys) + 1) for each in found)  # from then on one has no rate
    for now, end, kept in joined(found, cuts)[1]:
        if now >= over:
            break
        came = [sum(1 for each in coming[:end] if each[1] == at) for at in range(len(found))]
        for place, one in enumerate(found):
            lags = {}
            for at, other in enumerate(found):
                if at == place:
                    continue
                _, (mine, its) = settled_at(one, other, (came[place], came[at]))
                lags[at] = lag(one.keys, other.keys, (mine, its)) if its else mine
            figures = [
                InputFigures(each.factor, each.rate, multiplicity(each.keys), lags)
                for each in found
            ]
            assert kept[place] <= buffer_bound(figures, place)


@settings(max_examples=150, deadline=None)
@given(streams(), streams())
def test_what_a_join_gives_is_no_more_scrambled_than_3_10(one: Stream, other: Stream) -> None:
    coming = arrivals([one, other])
    when = {(which, position): at for at, (_, which, position) in enumerate(coming)}
    pairs = sorted(every([one, other]), key=lambda pair: max(when[each] for each in pair))
    if not pairs:
        return
    keys = np.array([one.keys[pair[0][1] - 1] for pair in pairs])
    figures = [InputFigures(e.factor, e.rate, multiplicity(e.keys)) for e in (one, other)]
    assert scrambling_factor(keys) <= joined_factor(figures)


def test_the_worked_figures_of_the_ledger() -> None:
    one, other = InputFigures(10, 50.0, lags={1: 5}), InputFigures(20, 25.0)
    assert buffer_bound([one, other], 0) == 55 + 1
    behind = InputFigures(10, 50.0, lags={1: -200})
    assert buffer_bound([behind, other], 0) == 1 + 1
    pair = [InputFigures(3, 10.0, 2), InputFigures(4, 20.0, 3)]
    assert (joined_rate(pair), joined_factor(pair)) == (10 * 3 + 20 * 2, 3 * 3 + 4 * 2)
    assert factor_by_other_key(5, 7) == 17


def test_partners_stay_for_whom_they_decide_about() -> None:
    assert let_go_until([5, 9], 0) == 9
    assert let_go_until([5, 9], 0, decides=True) == 5
    assert let_go_until([None, 9], 1) is None
    assert let_go_until([4, 9, 2], 0) == 2
