from decimal import Decimal

import pytest

from tests.e2e.reference import aggregates
from tests.e2e.reference.measures import MEASURES, answers, timed
from tests.e2e.reference.windows import Row, Window, moment

VALUES = [3, None, 1, 3, 10]
NOTHING = [None, None]


def test_counts_pass_over_null() -> None:
    assert aggregates.count(VALUES) == 4
    assert aggregates.count_distinct(VALUES) == 3
    assert aggregates.count(NOTHING) == aggregates.count_distinct(NOTHING) == 0


def test_sums_and_bounds() -> None:
    assert aggregates.total(VALUES) == 17
    assert aggregates.total_distinct(VALUES) == 14
    assert (aggregates.least(VALUES), aggregates.most(VALUES)) == (1, 10)
    assert (aggregates.least(["b", "", "a"]), aggregates.most(["b", "", "a"])) == ("", "b")


def test_the_mean_of_whole_numbers_is_exact_enough() -> None:
    assert aggregates.avg(VALUES) == 4.25


def test_the_mean_of_decimals_has_four_more_digits_rounded_half_up() -> None:
    cents = [Decimal("0.01"), Decimal("0.01"), Decimal("0.00")]
    assert str(aggregates.avg(cents)) == "0.006667"
    assert str(aggregates.avg([Decimal("1.00"), Decimal("2.00")])) == "1.500000"


def test_median_and_percentile_go_linearly_between_neighbours() -> None:
    assert aggregates.median(VALUES) == 3.0
    assert aggregates.median([4, 1]) == 2.5
    assert aggregates.percentile([0, 1, 2, 3, 4], 0.25) == 1.0
    assert aggregates.percentile([10, 20], 0.25) == 12.5
    assert aggregates.percentile([7], 0.25) == 7.0


@pytest.mark.parametrize(
    "aggregate",
    [
        aggregates.total,
        aggregates.total_distinct,
        aggregates.avg,
        aggregates.least,
        aggregates.most,
        aggregates.median,
    ],
)
def test_of_nothing_known_they_are_null(aggregate: object) -> None:
    assert callable(aggregate)
    assert aggregate(NOTHING) is None


def test_lists_keep_the_order_and_sets_do_not_repeat() -> None:
    assert aggregates.collect_list(VALUES) == [3, 1, 3, 10]
    assert aggregates.collect_set(VALUES) == {1, 3, 10}


def test_first_and_last_go_by_time_and_then_by_value() -> None:
    assert aggregates.first([5, 2, 4], [2, 1, 1]) == 2
    assert aggregates.last([5, 2, 7], [2, 1, 2]) == 7


def test_null_is_the_least_of_the_values_of_one_time() -> None:
    assert aggregates.first([5, None], [1, 1]) is None
    assert aggregates.last([5, None], [1, 1]) == 5
    assert aggregates.last([5, None], [1, 2]) is None


def test_by_another_column_its_null_is_passed_over() -> None:
    assert aggregates.max_by(["a", "b", "c"], [1, None, 1]) == "c"
    assert aggregates.min_by(["a", "b", "c"], [1, None, 1]) == "a"
    assert aggregates.max_by(["a"], [None]) is None


def test_the_top_are_the_greatest_with_their_equals() -> None:
    assert aggregates.top(VALUES, 3) == [10, 3, 3]
    assert aggregates.top([1], 3) == [1]


def test_distinct_keeps_one_null() -> None:
    assert aggregates.distinct([None, 2, None, 2, 1]) == [None, 2, 1]


def test_answers_have_a_row_for_each_group_of_each_window() -> None:
    rows: list[Row] = [{"ts": 1, "k": "a"}, {"ts": 2, "k": None}, {"ts": 3, "k": "a"}]
    windows = [Window(0, 3, rows[:2]), Window(3, 6, rows[2:])]
    assert MEASURES[0].sql == "count(*)"
    assert answers(windows, ("k",), MEASURES[:1]) == [
        (0, 3, "a", 1),
        (0, 3, None, 1),
        (3, 6, "a", 1),
    ]
    assert timed(answers(windows[:1], (), MEASURES[:1])) == [(moment(0), moment(3), 2)]
