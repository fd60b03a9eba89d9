from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.e2e.reference.joins import Input, Kind, Nulls, Range, Rows, Step, hop_join, join
from tests.e2e.reference.streams import SECOND, streams
from tests.e2e.reference.windows import Row, micros, spans

MINUTE = 60_000_000


def always(*_: Row) -> bool:
    return True


def same_key(a: Row, b: Row) -> bool:
    return bool(a["k"] == b["k"])


def side(*rows: tuple[int, str]) -> list[Row]:
    return [{"ts": at, "k": key, "id": f"{key}{at}"} for at, key in rows]


def ids(joined: list[tuple[Any, ...]]) -> list[tuple[str | None, ...]]:
    return sorted((tuple(row and row["id"] for row in each) for each in joined), key=str)


def two(
    left: Input, right: Input, kind: Kind = "inner", on: Callable[..., Any] = always
) -> list[tuple[str | None, ...]]:
    return ids(join([left, right], [Step(kind, on)]))


# -- D-CAPE's traffic (DCAPE-03) ---------------------------------------------------------

SENSOR_1 = (
    (0, "9034 TR", "Car", 55),
    (0, "FED 1", "Truck", 42),
    (1, "SOXFAN4", "Car", 50),
    (1, "8325 DL", "Car", 35),
    (1, "345 DGE", "Car", 65),
    (1, "UMASS1", "SUV", 45),
)
SENSOR_2 = (
    (0, "1345 FD", "Car", 34),
    (1, "MV 1223", "Truck", 53),
    (2, "SOXFAN4", "Car", 65),
    (2, "1492 CC", "Car", 32),
    (3, "UMASS1", "SUV", 23),
    (4, "1353 DW", "SUV", 56),
)


def sensor(readings: tuple[tuple[int, str, str, int], ...]) -> Input:
    rows = [
        {"ts": at * MINUTE, "carID": car, "type": kind, "MPH": mph}
        for at, car, kind, mph in readings
    ]
    return Input(rows, Range(2 * MINUTE))


def left_turns(on: Callable[[Row, Row], Any]) -> list[tuple[Row | None, ...]]:
    return join([sensor(SENSOR_2), sensor(SENSOR_1)], [Step("inner", on)])


def test_dcape_the_join_finds_two_cars_within_two_minutes() -> None:
    found = left_turns(lambda r2, r1: r1["carID"] == r2["carID"])
    assert [
        (r1["carID"], r1["ts"] // MINUTE, r2["ts"] // MINUTE) for r2, r1 in found if r1 and r2
    ] == [("SOXFAN4", 1, 2), ("UMASS1", 1, 3)]


def test_dcape_one_of_them_is_a_car() -> None:
    found = left_turns(lambda r2, r1: r1["carID"] == r2["carID"] and r1["type"] == "Car")
    assert [(r1["carID"], r1["MPH"]) for _, r1 in found if r1] == [("SOXFAN4", 50)]


# -- RANGE -------------------------------------------------------------------------------


def test_each_side_stays_for_its_own_window_and_the_bound_is_inside() -> None:
    a = Input(side((10, "a")), Range(3))
    b = Input(side((7, "b"), (8, "b"), (13, "b"), (14, "b")), Range(2))
    assert two(a, b) == [("a10", "b13"), ("a10", "b8")]


def test_arrival_does_not_matter_between_spans() -> None:
    a, b = side((1, "a"), (5, "a")), side((4, "b"), (2, "b"))
    forth = two(Input(a, Range(2)), Input(b, Range(2)))
    back = two(Input(a[::-1], Range(2)), Input(b[::-1], Range(2)))
    assert forth == back == [("a1", "b2"), ("a5", "b4")]


A = Input(side((1, "a"), (2, "b"), (9, "c")), Range(3))
B = Input(side((2, "a"), (3, "a"), (3, "d")), Range(3))
PAIRS = [("a1", "a2"), ("a1", "a3")]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("inner", PAIRS),
        ("left", [*PAIRS, ("b2", None), ("c9", None)]),
        ("right", [*PAIRS, (None, "d3")]),
        ("full", [*PAIRS, ("b2", None), ("c9", None), (None, "d3")]),
        ("semi", [("a1",)]),
        ("anti", [("b2",), ("c9",)]),
    ],
)
def test_every_kind_of_join(kind: Kind, wanted: list[tuple[str | None, ...]]) -> None:
    assert two(A, B, kind, same_key) == wanted


def test_a_predicate_may_be_null_and_then_does_not_hold() -> None:
    assert two(A, B, "inner", lambda *_: None) == []


# -- ROWS --------------------------------------------------------------------------------


def test_rows_keep_the_last_tuples_before_the_other() -> None:
    a = Input(side((1, "a"), (2, "a"), (3, "a")), Rows(2))
    b = Input(side((4, "b")), Rows(1))
    assert two(a, b) == [("a2", "b4"), ("a3", "b4")]


def test_at_the_same_time_the_first_input_of_from_comes_first() -> None:
    a, b = side((1, "a"), (2, "a")), side((2, "b"))
    assert two(Input(a, Rows(1)), Input(b, Rows(1))) == [("a2", "b2")]
    # Now b2 comes before a2: it meets the last before it, and a2 then meets b2.
    assert two(Input(b, Rows(1)), Input(a, Rows(1))) == [("b2", "a1"), ("b2", "a2")]


def test_rows_follow_time_and_then_arrival() -> None:
    a = Input(
        [{"ts": 2, "id": "late"}, {"ts": 1, "id": "x"}, {"ts": 1, "id": "y"}],
        Rows(1),
    )
    assert two(a, Input(side((1, "b")), Range(0))) == [("y", "b1")]


def test_rows_and_range_mix() -> None:
    a = Input(side((1, "a"), (2, "a"), (6, "a")), Rows(1))
    b = Input(side((3, "b"), (5, "b")), Range(1))
    # a2 is the last a before b3 and before b5; b5 is still there at 6, b3 is not.
    assert two(a, b) == [("a2", "b3"), ("a2", "b5"), ("a6", "b5")]


def test_a_tuple_that_rows_pushed_out_is_unmatched() -> None:
    a = Input(side((1, "a"), (2, "a")), Rows(1))
    b = Input(side((3, "b")), Rows(1))
    assert two(a, b, "full") == [("a1", None), ("a2", "b3")]


# -- three streams -----------------------------------------------------------------------


def test_three_streams_meet_while_all_are_there_at_the_latest() -> None:
    a, b = Input(side((1, "a")), Range(5)), Input(side((3, "b")), Range(2))
    c = Input(side((5, "c"), (6, "c")), Range(9))
    found = join([a, b, c], [Step("inner", always), Step("inner", always)])
    assert ids(found) == [("a1", "b3", "c5")]


def test_a_left_chain_keeps_what_has_no_partner() -> None:
    a = Input(side((1, "a"), (2, "b")), Range(5))
    b, c = Input(side((2, "a")), Range(5)), Input(side((3, "a")), Range(5))
    on_b = Step("left", same_key)
    on_c = Step("left", lambda _, b, c: b["k"] == c["k"])
    assert ids(join([a, b, c], [on_b, on_c])) == [("a1", "a2", "a3"), ("b2", None, None)]


def test_an_unmatched_right_row_has_no_left_rows() -> None:
    one = Input(side((1, "a")), Range(0))
    far = Input(side((9, "c")), Range(0))
    found = join([one, one, far], [Step("inner", always), Step("full", always)])
    assert ids(found) == [("a1", "a1", None), (None, None, "c9")]


def test_missing_rows_are_null_in_every_column() -> None:
    assert Nulls()["anything"] is None


@given(st.lists(streams(0, 8), min_size=3, max_size=3), st.lists(st.integers(0, 5), min_size=3))
def test_spans_of_three_streams_are_what_the_formula_says(
    given_rows: list[list[Row]], lengths: list[int]
) -> None:
    windows = [length * SECOND for length in lengths[:3]]
    inputs = [Input(rows, Range(w)) for rows, w in zip(given_rows, windows, strict=True)]
    wanted = Counter(
        tuple(row["id"] for row in rows)
        for rows in product(*given_rows)
        if all(
            max(micros(each["ts"]) for each in rows) - micros(row["ts"]) <= window
            for row, window in zip(rows, windows, strict=True)
        )
    )
    found = join(inputs, [Step("inner", always), Step("inner", always)])
    assert Counter(tuple(row["id"] for row in rows if row) for rows in found) == wanted


# -- window by window --------------------------------------------------------------------


def test_a_pair_appears_in_every_window_that_holds_both() -> None:
    found = hop_join(side((3, "a")), side((5, "a")), (6, 2), Step("inner", same_key))
    assert [(start, end, a["id"], b["id"]) for start, end, a, b in found] == [
        (0, 6, "a3", "a5"),
        (2, 8, "a3", "a5"),
    ]


def test_each_window_has_its_own_unmatched_tuples() -> None:
    found = hop_join(side((3, "a")), side((7, "a")), (4, 4), Step("full", same_key))
    assert [(start, a and a["id"], b and b["id"]) for start, _, a, b in found] == [
        (0, "a3", None),
        (4, None, "a7"),
    ]


@given(streams(0, 12), streams(0, 12), st.integers(1, 6), st.integers(1, 6))
def test_window_by_window_is_the_product_of_the_windows(
    left: list[Row], right: list[Row], size: int, slide: int
) -> None:
    window = (size * SECOND, min(slide, size) * SECOND)
    inside = [{start: rows for start, _, rows in spans(side, *window)} for side in (left, right)]
    wanted = Counter(
        (start, a["id"], b["id"])
        for start in inside[0].keys() & inside[1].keys()
        for a, b in product(inside[0][start], inside[1][start])
    )
    found = hop_join(left, right, window, Step("inner", always))
    assert Counter((start, a["id"], b["id"]) for start, _, a, b in found) == wanted
