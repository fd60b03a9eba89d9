"""Column-wise and row-wise decisions are the same."""

from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.events.occurrences.batch import Batch, by_key, coder, in_order, joined, occurrences
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.occurrences.pool import pooled
from penstock.events.operators.completions import Meetings, meet_every, meet_newest
from penstock.events.operators.completions_by_row import meet_rows
from penstock.events.operators.completions_of_pairs import meet_all, meet_oldest
from penstock.events.operators.pairs import pair_columns
from penstock.events.operators.pairs_by_row import pair_rows
from penstock.model.events import Mode
from tests.examples import examples

TIMES = st.integers(0, 20)
ROWS = st.lists(st.tuples(st.integers(0, 2), TIMES), max_size=14)


def batch(rows: list[tuple[int, int]], mark: int = 0, part: int = 0) -> Batch:
    """Return occurrences; no row is an occurrence of two parts."""
    key, end = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    number = np.arange(len(rows))
    made = in_order(occurrences(key, end, end, number * 4 + part, number[:, None]))
    return made.marked(np.full(len(rows), mark))


@given(
    st.tuples(ROWS, ROWS, ROWS),
    st.sampled_from(list(Mode)),
    st.none() | st.integers(1, 12),
    st.none() | st.integers(1, 3),
    st.integers(0, 1),
    TIMES,
)
@settings(max_examples=examples(500), deadline=None)
def test_pairs_are_the_same_in_one_step_or_two(
    rows: tuple[list[tuple[int, int]], ...],
    mode: Mode,
    within: int | None,
    cap: int | None,
    mark: int,
    cut: int,
) -> None:
    firsts, middles, lasts = (batch(each, mark, part) for part, each in enumerate(rows))
    middles = by_key(middles)
    bounds = OccurrenceBounds(within, None if mode in {Mode.RECENT, Mode.RECENT_UNIQUE} else cap)
    held = {pair_columns: firsts.take(slice(0)), pair_rows: firsts.take(slice(0))}
    for low, high in ((-1, cut), (cut, 99)):
        found = []
        for pair, left in held.items():
            new = firsts.take((firsts.end >= low) & (firsts.end < high))
            mine = by_key(joined([left, new]))
            now = lasts.take((lasts.end >= low) & (lasts.end < high))
            pairs = pair(mode, mine, middles, now, bounds)
            numbers = mine.refs[pairs.first, 0]
            found.append(list(zip(pairs.last.tolist(), numbers.tolist(), strict=True)))
            held[pair] = mine.marked(pairs.mark).take(pairs.left)
        assert found[0] == found[1]


@given(st.lists(ROWS, min_size=2, max_size=4), st.data(), st.none() | st.integers(1, 12))
@settings(max_examples=examples(300), deadline=None)
def test_meetings_of_the_newest_are_the_same(
    rows: list[list[tuple[int, int]]], data: st.DataObject, within: int | None
) -> None:
    parts = [batch(each) for each in rows]
    known = data.draw(TIMES)
    pool, _ = pooled(
        [part.take(part.end < known) for part in parts],
        [part.take(part.end >= known) for part in parts],
    )
    count = data.draw(st.integers(2, len(parts)))
    fast = meet_newest(pool, len(parts), count, OccurrenceBounds(within))
    slow = meet_rows(Mode.RECENT, pool, len(parts), count, OccurrenceBounds(within))
    assert fast.at.tolist() == slow.at.tolist()
    assert fast.owner.tolist() == slow.owner.tolist()
    assert fast.members.tolist() == slow.members.tolist()
    every = meet_every(pool, len(parts), count, OccurrenceBounds(within))
    found = {tuple(each) for each in every.members.reshape(-1, count).tolist()}
    assert found >= {tuple(each) for each in fast.members.reshape(-1, count).tolist()}


@given(
    st.tuples(ROWS, ROWS),
    TIMES,
    st.sampled_from([Mode.CHRONICLE, Mode.CONTINUOUS]),
    st.none() | st.integers(1, 12),
    st.none() | st.integers(1, 3),
)
@example(  # what is too old and still held does not make room for more than the cap
    rows=([(1, 2), (1, 18)], [(1, 0), (1, 4), (1, 17), (1, 17)]),
    cut=5,
    mode=Mode.CONTINUOUS,
    within=1,
    cap=1,
)
@settings(max_examples=examples(600), deadline=None)
def test_meetings_of_two_are_the_same_in_one_step_or_two(
    rows: tuple[list[tuple[int, int]], ...],
    cut: int,
    mode: Mode,
    within: int | None,
    cap: int | None,
) -> None:
    bounds = OccurrenceBounds(within, cap)
    fast = {Mode.CHRONICLE: meet_oldest, Mode.CONTINUOUS: meet_all}[mode]
    parts = [batch(each, part=part) for part, each in enumerate(rows)]
    none = [part.take(slice(0)) for part in parts]
    first = [part.take(part.end < cut) for part in parts]
    then = [part.take(part.end >= cut) for part in parts]
    pool, every = pooled(none, first)
    one, other = fast(pool, bounds), meet_rows(mode, pool, 2, 2, bounds)
    same(one, other)
    # What is too old for its span may leave by the cap or by its age, and counts or does not.
    assert within is not None or one.dropped == other.dropped
    held = [each.take(pool.place[one.left & (pool.part == at)]) for at, each in enumerate(every)]
    held = [in_order(each) for each in held]
    pool, _ = pooled(held, then)
    same(fast(pool, bounds), meet_rows(mode, pool, 2, 2, bounds))


def same(one: Meetings, other: Meetings) -> None:
    assert one.at.tolist() == other.at.tolist()
    assert one.owner.tolist() == other.owner.tolist()
    assert one.members.tolist() == other.members.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-(2**61), 2**61)), min_size=1, max_size=20)
)
@settings(deadline=None)
def test_codes_order_as_keys_and_times_do(rows: list[tuple[int, int]]) -> None:
    key, time = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    codes = coder(6, time)(key, time).tolist()
    assert [rows[at] for at in np.argsort(codes, kind="stable")] == sorted(rows)
    for (one, code), (other, next_code) in pairwise(zip(rows, codes, strict=True)):
        assert (one < other) == (code < next_code)
