from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.tuning.plans import (
    CENTRAL,
    PlanLimits,
    SpreadPlan,
    SpreadStrategy,
    candidates,
)

FANS = st.lists(st.integers(2, 5), min_size=1, max_size=3).map(tuple)


def _counted(fans: tuple[int, ...]) -> int:
    return 1 if not fans else 2 + sum(_counted(fans[1:]) for _ in range(fans[0]))


@given(FANS)
def test_sites_are_those_of_the_branches_and_two_more_at_each_place(fans: tuple[int, ...]) -> None:
    plan = SpreadPlan(SpreadStrategy.SPLIT, fans)
    assert plan.sites == _counted(fans)
    assert plan.degree == prod(fans)
    assert SpreadPlan.named(plan.name) == plan


def test_sites_of_the_thesis() -> None:
    assert [SpreadPlan(SpreadStrategy.SPLIT, (n,)).sites for n in (2, 4, 8)] == [4, 6, 10]
    assert SpreadPlan(SpreadStrategy.DISTRIBUTE, (2, 2)).sites == 10
    assert SpreadPlan(SpreadStrategy.DISTRIBUTE, (2, 2)).name == "distribute 2x2"


@given(st.integers(1, 12), st.sampled_from([60, 64, 1000]), st.booleans())
def test_candidates_are_all_products_that_a_split_can_cut(most: int, size: int, even: bool) -> None:
    found = candidates(PlanLimits(most, divides=lambda _, fan: not even or fan in {2, 4, 8}), size)
    assert found[0] == CENTRAL == SpreadPlan.named("central")
    assert len(set(found)) == len(found)
    split = {plan.fans for plan in found if plan.strategy is SpreadStrategy.SPLIT}
    spread = {plan.fans for plan in found if plan.strategy is SpreadStrategy.DISTRIBUTE}
    assert spread == _products(most)
    assert split == {
        fans
        for fans in spread
        if size % prod(fans) == 0 and all(not even or fan in {2, 4, 8} for fan in fans)
    }


def _products(most: int) -> set[tuple[int, ...]]:
    found: set[tuple[int, ...]] = set()
    grown: set[tuple[int, ...]] = {()}
    while grown:
        longer = {(*f, n) for f in grown for n in range(2, most + 1) if prod(f) * n <= most}
        grown = longer - found
        found |= longer
    return found


def test_without_a_split_windows_stay_whole_and_limits_hold() -> None:
    found = candidates(PlanLimits(8, most_sites=6, trees=False), 1024)
    assert {plan.strategy for plan in found} == {SpreadStrategy.CENTRAL, SpreadStrategy.DISTRIBUTE}
    assert max(plan.sites for plan in found) == 6
    assert not candidates(PlanLimits(8, divides=lambda *_: True, trees=False), 1024)[-1].fans[1:]


def test_a_plan_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="central"):
        SpreadPlan(SpreadStrategy.CENTRAL, (2,))
    with pytest.raises(ValueError, match="split"):
        SpreadPlan(SpreadStrategy.SPLIT)
