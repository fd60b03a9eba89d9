import pytest

from penstock.qos.joins.choice import choose
from penstock.qos.joins.figures import InputFigures
from penstock.qos.joins.memory import READ_AHEAD, cost, costs, leads

LEADING = InputFigures(100, 50.0, 2, {1: 5000})
LAGGING = InputFigures(300, 50.0, 2, {0: 0})
PAIR = (LEADING, LAGGING)


@pytest.mark.parametrize(
    ("strategy", "first"),
    [
        ("plain", 100 + 300 + 5000 + 1),
        ("msf", 100 + 2 + 2 + 5000 + 1),
        ("dbf", 100 + READ_AHEAD + 300 + 1),
        ("hybrid", 100 + 2 + READ_AHEAD + 2 + 1),
    ],
)
def test_each_strategy_keeps_what_its_formula_says(strategy: str, first: int) -> None:
    assert cost(strategy, PAIR).tuples[0] == first


def test_sorting_delays_until_the_factor_has_passed() -> None:
    assert cost("plain", PAIR).seconds == 0
    assert cost("msf", PAIR).seconds == 6.0


def test_the_quickest_that_fits_is_taken() -> None:
    found = costs(PAIR)
    assert choose(found, 1e9, 10.0).strategy == "plain"
    assert choose(found, 2000, 10.0).strategy == "dbf"
    assert choose(found, 1000, 10.0).strategy == "hybrid"
    assert choose(found, 1, 10.0).strategy == "hybrid"  # none fits: the least memory
    assert choose(found, 1000, 0.5).strategy == "hybrid"  # memory goes before latency


def test_an_input_may_go_to_disk_once_it_leads_by_three_times_of_disk() -> None:
    assert leads(PAIR, 0)
    assert not leads(PAIR, 1)
    assert not leads((InputFigures(0, 50.0, 1, {1: 1}), LAGGING), 0, disk_seconds=0.01)
    assert leads((InputFigures(0, 50.0, 1, {1: 2}), LAGGING), 0, disk_seconds=0.01)
