"""What a gate keeps of each train that waits before it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.load.tempo import SECOND, Tempo, TempoWindows
from penstock.qos.shedding.portions import AS_MUCH, portions, thinnest, together

trains = st.lists(st.tuples(st.integers(0, 10_000), st.floats(0.0, 1.0)), min_size=1, max_size=12)


def kept(rows: list[int], shares: tuple[float, ...]) -> float:
    return sum(many * share for many, share in zip(rows, shares, strict=True))


@given(trains, st.floats(0.05, 1.0), st.floats(0, 50_000))
def test_it_fills_the_room_and_never_keeps_less_than_the_least(
    drawn: list[tuple[int, float]], keep: float, room: float
) -> None:
    rows, least = [many for many, _ in drawn], [share for _, share in drawn]
    found = portions(rows, least, keep, room)
    assert all(share >= low for share, low in zip(found, least, strict=True))
    assert all(share <= max(keep, low) + 1e-9 for share, low in zip(found, least, strict=True))
    total, most = kept(rows, found), kept(rows, tuple(max(keep, low) for low in least))
    lowest = kept(rows, tuple(least))
    assert total == pytest.approx(max(lowest, min(room, most)), rel=1e-6, abs=1e-3)


@given(trains, st.floats(0, 50_000))
def test_it_takes_as_many_trains_as_fit_where_all_goes_that_may(
    drawn: list[tuple[int, float]], room: float
) -> None:
    rows, least = [many for many, _ in drawn], [share for _, share in drawn]
    taken = together(rows, least, room)
    assert 1 <= taken <= len(rows)
    assert taken == 1 or kept(rows[:taken], tuple(least[:taken])) <= room
    if taken < len(rows):
        assert kept(rows[: taken + 1], tuple(least[: taken + 1])) > room


def steady(rows: int, seconds: int, start: int = 0) -> list[tuple[int, int, int]]:
    fifth = SECOND // 5
    places = range(start * 5, (start + seconds) * 5)
    return [(rows // 5, n * fifth, (n + 1) * fifth) for n in places]


def fed(drawn: list[tuple[int, int, int]]) -> Tempo:
    found = Tempo()
    for each in drawn:
        found = found.add(*each)
    return found


@given(st.integers(0, 28), st.integers(1, 4), st.integers(1, 4))
def test_of_a_steady_stream_every_window_has_its_rate(train: int, span: int, hops: int) -> None:
    tempo = fed(steady(1_000, 6))
    windows = TempoWindows(0, span * SECOND, span * SECOND // hops)
    first = train * SECOND // 5
    found = thinnest(tempo.curve(), windows, first, first + SECOND // 5)
    assert 1_000 / span / hops / AS_MUCH <= found <= 1_001


def test_a_window_that_a_burst_only_touches_is_thinner_than_the_burst() -> None:
    fifth = SECOND // 5
    quiet = [(1, n * fifth, (n + 1) * fifth) for n in range(4)]
    burst = [(20_000, n * fifth, (n + 1) * fifth) for n in range(4, 10)]
    calm = [(1, n * fifth, (n + 1) * fifth) for n in range(10, 20)]
    tempo = fed([*quiet, *burst, *calm])
    seconds = TempoWindows()
    assert thinnest(tempo.curve(), seconds, 4 * fifth, 5 * fifth) == pytest.approx(20_004)
    assert thinnest(tempo.curve(), seconds, 6 * fifth, 7 * fifth) == pytest.approx(100_000)
    assert thinnest(tempo.curve(), seconds, 12 * fifth, 13 * fifth) == pytest.approx(5)


def test_a_window_counts_that_the_first_train_of_a_burst_hardly_reaches_back_into() -> None:
    fifth, tenth = SECOND // 5, SECOND // 50  # a tenth of a train is before the second window
    quiet = [(1, n * fifth - tenth, (n + 1) * fifth - tenth) for n in range(1, 5)]
    burst = [(20_000, n * fifth - tenth, (n + 1) * fifth - tenth) for n in range(5, 11)]
    tempo = fed([*quiet, *burst])
    found = [thinnest(tempo.curve(), TempoWindows(), first, last) for _, first, last in burst]
    assert found[0] == pytest.approx(
        2_004 / 0.82, rel=0.01
    )  # all that there is of the first window
    assert found[1:3] == pytest.approx([100_000, 100_000], rel=0.01)


def test_a_window_that_has_begun_gets_at_most_as_much_again() -> None:
    tempo = fed([*steady(1_000, 1), *steady(1_000, 1, start=1)[:1]])
    assert thinnest(tempo.curve(), TempoWindows(), SECOND, SECOND + SECOND // 5) == pytest.approx(
        400
    )


def test_what_began_before_anything_is_known_is_judged_by_what_is() -> None:
    tempo = fed(steady(1_000, 5, start=100))
    hour = TempoWindows(0, 3600 * SECOND, 3600 * SECOND)
    found = thinnest(tempo.curve(), hour, 102 * SECOND, 102 * SECOND + SECOND // 5)
    assert found > 1


@given(
    st.integers(-(10**6), 10**6),
    st.integers(1, 10**5),
    st.integers(1, 10**5),
    st.integers(-(10**6), 10**6),
    st.integers(0, 10**5),
)
def test_windows_around_hold_a_time_and_none_is_missed(
    begin: int, span: int, hop: int, first: int, length: int
) -> None:
    last, windows = first + length, TempoWindows(begin, span, hop)
    found = windows.around(first, last, 10**9) if (span + length) // hop < 10**4 else []
    assert all(start <= last and start + span > first for start in found)
    if found:
        assert max(found) + hop > last
        assert min(found) - hop + span <= first
    assert len(windows.around(first, last, 7)) <= 7
