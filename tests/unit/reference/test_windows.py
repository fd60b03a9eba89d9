from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.e2e.reference.streams import streams
from tests.e2e.reference.windows import (
    Row,
    Window,
    WindowAssigner,
    counts,
    in_order,
    landmarks,
    micros,
    moment,
    numbered_landmarks,
    over_numbers,
    over_times,
    partitions,
    sessions,
    spans,
    when,
)

HOUR = 3_600_000_000


def rows_at(*times: int, key: str = "a") -> list[Row]:
    return [{"ts": at, "id": place, "k": key} for place, at in enumerate(times)]


def numbered(count: int) -> list[Row]:
    return rows_at(*range(count))


def held(windows: list[Window]) -> list[tuple[int, int, list[int]]]:
    return [(start, end, [row["id"] for row in rows]) for start, end, rows in windows]


def on(day: int, hour: int, minute: int = 0) -> int:
    return micros(datetime(2003, 12, day, hour, minute, tzinfo=UTC))


def every(minutes: int, begin: int, end: int) -> list[Row]:
    return rows_at(*range(begin, end, minutes * 60_000_000))


def hours(windows: list[Window]) -> list[tuple[int, int]]:
    return [(moment(start).hour, moment(end).hour) for start, end, _ in windows]


def sizes(windows: list[Window]) -> list[int]:
    return [len(rows) for _, _, rows in windows]


# -- order -----------------------------------------------------------------------------


def test_the_order_is_time_then_arrival() -> None:
    assert [row["id"] for row in in_order(rows_at(5, 3, 5, 3, 4))] == [1, 3, 4, 0, 2]


def test_without_times_the_order_is_arrival() -> None:
    assert in_order([{"id": 2}, {"id": 1}]) == [{"id": 2}, {"id": 1}]


def test_null_is_a_key_as_any_other() -> None:
    rows: list[Row] = [{"ts": 1, "k": None}, {"ts": 2, "k": "a"}, {"ts": 3, "k": None}]
    assert partitions(rows, ("k",)) == [[rows[0], rows[2]], [rows[1]]]


def test_aware_times_and_microseconds_are_the_same() -> None:
    at = datetime(2003, 12, 15, 10, tzinfo=UTC)
    assert moment(micros(at)) == at
    assert micros(micros(at)) == micros(at)


# -- RANGE and LANDMARK ----------------------------------------------------------------


def test_a_tuple_on_the_bound_of_tumbling_spans_is_in_the_second() -> None:
    assert held(spans(rows_at(0, 9, 10), 10, 10)) == [(0, 10, [0, 1]), (10, 20, [2])]


def test_sliding_spans_start_at_multiples_of_the_slide_since_1970() -> None:
    assert held(spans(rows_at(7, 4), 5, 2)) == [
        (0, 5, [1]),
        (2, 7, [1]),
        (4, 9, [1, 0]),
        (6, 11, [0]),
    ]


def test_spans_without_a_tuple_are_left_out() -> None:
    assert held(spans(rows_at(1, 31), 10, 10)) == [(0, 10, [0]), (30, 40, [1])]


def test_no_tuples_make_no_windows() -> None:
    assert spans([], 10, 10) == counts([], 3, 1) == landmarks([], 0, 10) == []
    assert sessions([], 3) == when([], bool) == []


@given(streams(0, 30), st.integers(1, 9), st.integers(1, 9))
def test_spans_hold_every_tuple_in_each_of_its_windows(
    rows: list[Row], size: int, slide: int
) -> None:
    size, slide = size * 1_000_000, min(slide, size) * 1_000_000
    wanted = {
        (start, row["id"])
        for row in rows
        for start in range(micros(row["ts"]) // slide * slide, micros(row["ts"]) - size, -slide)
    }
    found = spans(rows, size, slide)
    assert {(start, row["id"]) for start, _, inside in found for row in inside} == wanted
    assert all(end == start + size for start, end, _ in found)


def test_a_landmark_grows_until_it_holds_the_last_tuple() -> None:
    assert held(landmarks(rows_at(3, 12, 25), 5, 10)) == [
        (5, 15, [1]),
        (5, 25, [1]),
        (5, 35, [1, 2]),
    ]


def test_a_landmark_on_numbers_grows_by_as_many_tuples() -> None:
    assert held(numbered_landmarks(numbered(5), 2, 2)) == [
        (2, 3, [1, 2]),
        (2, 5, [1, 2, 3, 4]),
    ]


# -- MavStream's examples (MAV-25, MAV-26) -----------------------------------------------


def test_mavstream_a_snapshot_is_one_window() -> None:
    people = every(30, on(13, 8), on(13, 18))
    nine, five = on(13, 9), on(13, 17)
    found = over_times(people, WindowAssigner(nine, five, 0, 0, until=five))
    assert (hours(found), sizes(found)) == ([(9, 17)], [16])


def test_mavstream_a_landmark_from_nine_to_five_gives_windows_of_one_to_eight_hours() -> None:
    usage = every(30, on(13, 8), on(13, 20))
    nine = on(13, 9)
    found = over_times(usage, WindowAssigner(nine, nine + HOUR, 0, HOUR, until=on(13, 17)))
    assert hours(found) == [(9, end) for end in range(10, 18)]
    assert sizes(found) == [2, 4, 6, 8, 10, 12, 14, 16]


def test_mavstream_overlap_sliding_starts_an_hour_every_ten_minutes() -> None:
    turned_off = every(10, on(13, 10), on(13, 12))
    ten, step = on(13, 10), HOUR // 6
    found = over_times(turned_off, WindowAssigner(ten, ten + HOUR, step, step, until=on(13, 11)))
    assert [moment(start).minute for start, _, _ in found] == [0, 10, 20, 30, 40, 50]
    assert sizes(found) == [6] * 6


def test_mavstream_disjoint_sliding_goes_over_midnight() -> None:
    temperatures = every(20, on(13, 20), on(14, 12))
    ten = on(13, 22)
    found = over_times(temperatures, WindowAssigner(ten, ten + HOUR, HOUR, HOUR, until=on(14, 10)))
    assert hours(found)[:3] == [(22, 23), (23, 0), (0, 1)]
    assert sizes(found) == [3] * 12


def test_mavstream_a_daily_count_for_january_has_31_windows() -> None:
    january, february = (micros(datetime(2003, month, 1, tzinfo=UTC)) for month in (1, 2))
    counted = every(360, january, february + 48 * HOUR)
    day = 24 * HOUR
    found = over_times(counted, WindowAssigner(january, january + day, day, day, until=february))
    assert sizes(found) == [4] * 31


def test_mavstream_the_hourly_average_from_ten_to_ten_has_twelve_windows() -> None:
    readings = every(15, on(15, 9), on(15, 23))
    ten = on(15, 10)
    found = over_times(readings, WindowAssigner(ten, on(15, 11), HOUR, HOUR, until=on(15, 22)))
    assert hours(found) == [(hour, hour + 1) for hour in range(10, 22)]
    assert sizes(found) == [4] * 12


def test_mavstream_every_hundred_transactions() -> None:
    found = over_numbers(numbered(250), WindowAssigner(1, 100, 100, 100))
    assert [(start, end) for start, end, _ in found] == [(1, 100), (101, 200), (201, 300)]
    assert sizes(found) == [100, 100, 50]


# -- BEGIN END HOP UNTIL -----------------------------------------------------------------


def test_the_last_window_starts_before_until_and_may_end_after_it() -> None:
    assert held(over_times(numbered(20), WindowAssigner(2, 6, 3, 3, until=5))) == [
        (2, 6, [2, 3, 4, 5])
    ]
    assert len(over_times(numbered(20), WindowAssigner(2, 6, 3, 3, until=6))) == 2


def test_the_last_window_of_a_landmark_ends_at_or_before_until() -> None:
    ends = [end for _, end, _ in over_times(numbered(30), WindowAssigner(0, 5, 0, 5, until=17))]
    assert ends == [5, 10, 15]


def test_on_numbers_until_is_inside() -> None:
    assert len(over_numbers(numbered(20), WindowAssigner(1, 5, 5, 5, until=11))) == 3
    assert len(over_numbers(numbered(20), WindowAssigner(1, 5, 5, 5, until=10))) == 2
    assert len(over_numbers(numbered(20), WindowAssigner(1, 5, 0, 5, until=10))) == 2
    assert len(over_numbers(numbered(20), WindowAssigner(1, 5, 0, 0, until=5))) == 1


def test_numbers_count_from_one_in_order_of_time() -> None:
    assert held(over_numbers(rows_at(9, 1, 5), WindowAssigner(0, 2, 2, 2))) == [
        (0, 2, [1, 2]),
        (2, 4, [2, 0]),
    ]


def test_unequal_hops_let_windows_grow() -> None:
    assert held(over_times(numbered(6), WindowAssigner(0, 1, 2, 3))) == [
        (0, 1, [0]),
        (2, 4, [2, 3]),
        (4, 7, [4, 5]),
    ]


def test_unequal_hops_let_windows_shrink_until_they_are_empty() -> None:
    bounds = [
        (start, end) for start, end, _ in over_times(numbered(99), WindowAssigner(0, 5, 3, 1))
    ]
    assert bounds == [(0, 5), (3, 6), (6, 7)]
    assert [end for _, end, _ in over_numbers(numbered(9), WindowAssigner(1, 3, 1, 0))] == [3, 3, 3]


def test_reverse_windows_go_back_to_where_history_begins() -> None:
    assert held(over_times(rows_at(3, 4, 7, 9), WindowAssigner(6, 10, -4, -4))) == [
        (6, 10, [2, 3]),
        (2, 6, [0, 1]),
    ]


def test_the_last_reverse_window_ends_after_until() -> None:
    ends = [end for _, end, _ in over_times(numbered(20), WindowAssigner(10, 15, -5, -5, until=5))]
    assert ends == [15, 10]
    ends = [
        end for _, end, _ in over_numbers(numbered(20), WindowAssigner(11, 15, -5, -5, until=5))
    ]
    assert ends == [15, 10, 5]


def test_a_reverse_landmark_shrinks_to_its_start() -> None:
    assert held(over_times(numbered(9), WindowAssigner(2, 7, 0, -2))) == [
        (2, 7, [2, 3, 4, 5, 6]),
        (2, 5, [2, 3, 4]),
        (2, 3, [2]),
    ]


@pytest.mark.parametrize("hops", [(1, -1), (-1, 1), (-1, 0), (0, 0)])
def test_hops_that_mean_nothing_are_refused(hops: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"goes both ways|never moves"):
        WindowAssigner(1, 5, *hops)


# -- ROWS --------------------------------------------------------------------------------


def test_rows_slide_and_the_end_closes_every_window_with_a_tuple() -> None:
    assert held(counts(numbered(6), 5, 2)) == [
        (1, 5, [0, 1, 2, 3, 4]),
        (3, 7, [2, 3, 4, 5]),
        (5, 9, [4, 5]),
    ]


def test_rows_of_a_partition_are_counted_for_each_key() -> None:
    rows = [{"ts": at, "id": at, "k": key} for at, key in enumerate("abaab")]
    assert held(counts(rows, 2, 2, ("k",))) == [(1, 2, [0, 2]), (3, 4, [3]), (1, 2, [1, 4])]


# -- SESSION -----------------------------------------------------------------------------


def test_a_pause_of_exactly_the_gap_ends_a_session() -> None:
    assert held(sessions(rows_at(0, 2, 5, 9, 20), 3)) == [
        (0, 8, [0, 1, 2]),
        (9, 12, [3]),
        (20, 23, [4]),
    ]


def test_sessions_are_per_group() -> None:
    rows = rows_at(0, 4, key="a") + rows_at(2, 6, key="b")
    assert len(sessions(rows, 3)) == 1
    assert [(start, end) for start, end, _ in sessions(rows, 3, ("k",))] == [
        (0, 3),
        (4, 7),
        (2, 5),
        (6, 9),
    ]


# -- WHEN --------------------------------------------------------------------------------


def test_the_tuple_at_which_the_condition_holds_is_the_last_of_its_window() -> None:
    def is_wide(rows: list[Row]) -> bool:
        return bool(rows[-1]["ts"] - rows[0]["ts"] > 3)

    assert held(when(rows_at(0, 2, 4, 5, 9, 10), is_wide)) == [
        (0, 4, [0, 1, 2]),
        (5, 9, [3, 4]),
        (10, 10, [5]),
    ]


def test_a_condition_that_is_null_does_not_hold() -> None:
    assert held(when(rows_at(1, 2), lambda _: None)) == [(1, 2, [0, 1])]


def test_when_is_per_group_and_follows_time() -> None:
    rows = rows_at(5, 1, key="a") + rows_at(3, key="b")
    assert held(when(rows, lambda inside: len(inside) == 2, ("k",))) == [
        (1, 5, [1, 0]),
        (3, 3, [0]),
    ]
