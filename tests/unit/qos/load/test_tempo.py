"""How many tuples a stream has for each second of its own time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.load.tempo import GAP, SECOND, Tempo


def fed(trains: list[tuple[int, int, int]]) -> Tempo:
    found = Tempo()
    for each in trains:
        found = found.add(*each)
    return found


@given(st.integers(1, 10_000), st.integers(1_000, SECOND), st.integers(2, 40))
def test_it_is_the_rate_of_a_steady_stream(rows: int, span: int, trains: int) -> None:
    steady = fed([(rows, n * span, (n + 1) * span) for n in range(trains)])
    assert steady.per_second == pytest.approx(rows / span * SECOND)


def test_it_follows_a_step_within_some_trains() -> None:
    slow = [(10, n * SECOND, (n + 1) * SECOND) for n in range(30)]
    fast = [(1_000, (30 + n) * SECOND, (31 + n) * SECOND) for n in range(10)]
    assert fed(slow).per_second == pytest.approx(10)
    assert fed([*slow, *fast]).per_second > 600


def test_a_flood_after_a_long_silence_is_a_flood() -> None:
    before = [(10, n * SECOND, (n + 1) * SECOND) for n in range(30)]
    hour = 3600 * SECOND
    flood = [(5_000, hour + n * SECOND, hour + (n + 1) * SECOND) for n in range(20)]
    assert fed([*before, *flood]).per_second > 3_500


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10**12), st.integers(0, 10**9))))
def test_it_is_never_below_zero_nor_more_than_gaps_allow(drawn: list[tuple[int, int, int]]) -> None:
    found = fed([(rows, first, first + span) for rows, first, span in drawn])
    assert found.per_second >= 0
    assert found.micros <= sum(span + GAP for _, _, span in drawn) + 1


def test_it_is_known_what_there_was_before() -> None:
    slow = [(10, n * SECOND, (n + 1) * SECOND) for n in range(30)]
    fast = [(1_000, (30 + n) * SECOND, (31 + n) * SECOND) for n in range(60)]
    found = fed([*slow, *fast])
    assert found.before(20 * SECOND, 5 * SECOND) == pytest.approx(10)
    assert found.before(31 * SECOND, SECOND) == pytest.approx(1_000)
    assert found.before(31 * SECOND, 2 * SECOND) == pytest.approx(505)
    assert found.before(0, SECOND) == 0
