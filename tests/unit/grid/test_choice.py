import pytest

from penstock.grid.choice import Choice, Cost


def cost(cells: int, density: float, a_cell: float, a_block: float) -> Cost:
    return Cost("p", cells, density, a_cell, a_block)


def test_the_response_time_is_that_of_5_9() -> None:
    costs = (cost(1000, 0.02, 0.001, 0.01), cost(500, 0.1, 0.002, 0.02), cost(100, 1.0, 0.1, 0.5))
    choice = Choice(costs, blocks=21)
    assert choice.response(0) == pytest.approx(11 * 0.53)
    assert choice.response(1) == pytest.approx(0.02 + 11 * 0.52)
    assert choice.response(2) == pytest.approx(0.12 + 11 * 0.5)
    assert choice.response(3) == pytest.approx(0.12 + 10)


def test_the_choice_makes_whole_what_is_sparse_and_pulls_what_is_dear() -> None:
    costs = (cost(1000, 0.02, 0.001, 0.01), cost(500, 0.1, 0.002, 0.02), cost(100, 1.0, 0.1, 0.5))
    assert Choice(costs, blocks=21).top == 2
    assert Choice(costs, blocks=1).top == 0
    assert Choice((), blocks=1).top == 0
