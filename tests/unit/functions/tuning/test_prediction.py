import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.tuning.curves import CostCurve
from penstock.functions.tuning.plans import CENTRAL, SpreadPlan, SpreadStrategy
from penstock.functions.tuning.prediction import SLOTS, predict, speed_up
from penstock.functions.tuning.sites import Costs, Phase, sites_of
from tests.unit.functions.tuning.draws import POWERS, SIZES, STRATEGIES, TREES, costs


@given(POWERS, SIZES, st.floats(1e-9, 1e-3))
def test_with_n_log_n_alone_split_gains_k_log_n_over_log_n_less_log_k(
    k: int, size: int, cost: float
) -> None:
    free = dict.fromkeys((2, 4, 8), CostCurve())
    alone = Costs(compute=CostCurve(loglinear=cost), splits=free, combines=free)
    log = math.log2(size)
    gained = speed_up(SpreadPlan(SpreadStrategy.SPLIT, (k,)), alone, size)
    assert math.isclose(gained, k * log / (log - math.log2(k)))
    assert math.isclose(speed_up(SpreadPlan(SpreadStrategy.DISTRIBUTE, (k,)), alone, size), k)


@given(costs(), SIZES, POWERS)
def test_a_branch_of_split_is_better_exactly_if_t_n_exceeds_k_t_of_a_part(
    each: Costs, size: int, k: int
) -> None:
    def whole(n: float) -> float:  # equation 4.1
        parts = (each.receive, each.compute, each.send)
        return sum(part.at(n) for part in parts) + each.system

    def branch(strategy: SpreadStrategy) -> float:
        sites = sites_of(SpreadPlan(strategy, (k,)), each, size)
        return next(site.seconds for site in sites if site.phase is Phase.COMPUTE)

    assert math.isclose(branch(SpreadStrategy.DISTRIBUTE), whole(size) / k)
    assert math.isclose(branch(SpreadStrategy.SPLIT), whole(size / k))


@given(costs(), SIZES, STRATEGIES, TREES)
def test_windows_that_are_larger_or_dearer_are_never_carried_faster(
    each: Costs, size: int, strategy: SpreadStrategy, fans: tuple[int, ...]
) -> None:
    plan = SpreadPlan(strategy, fans)
    told = predict(plan, each, size, 2).seconds
    dearer = replace(each, compute=each.compute.times(2), system=each.system + 1e-6)
    assert predict(plan, each, 2 * size, 2).seconds >= told
    assert predict(plan, dearer, size, 2).seconds >= told


@given(costs(), SIZES, STRATEGIES, TREES, st.integers(1, 20))
def test_more_slots_never_hurt_and_never_pass_the_busiest_site(
    each: Costs, size: int, strategy: SpreadStrategy, fans: tuple[int, ...], slots: int
) -> None:
    plan = SpreadPlan(strategy, fans)
    few, more = predict(plan, each, size, slots), predict(plan, each, size, slots + 1)
    assert more.seconds <= few.seconds
    assert few.seconds >= predict(plan, each, size).seconds == few.busiest.seconds
    assert few.bottleneck in {few.busiest.name, SLOTS}


@given(costs(), SIZES, STRATEGIES, TREES)
def test_on_one_slot_no_plan_is_better_than_all_its_work(
    each: Costs, size: int, strategy: SpreadStrategy, fans: tuple[int, ...]
) -> None:
    told = predict(SpreadPlan(strategy, fans), each, size, 1)
    total = sum(site.copies * site.seconds for site in told.sites)
    assert math.isclose(told.seconds, total)
    assert math.isclose(told.utilisation(1 / told.seconds), 1)


@given(costs(), SIZES, TREES)
def test_the_sites_of_a_tree_are_counted_and_get_every_window_once(
    each: Costs, size: int, fans: tuple[int, ...]
) -> None:
    flat = replace(
        each, receive=CostCurve(), send=CostCurve(), compute=CostCurve(fixed=1.0), system=0.0
    )
    for strategy, windows in (
        (SpreadStrategy.DISTRIBUTE, 1),
        (SpreadStrategy.SPLIT, math.prod(fans)),
    ):
        plan = SpreadPlan(strategy, fans)
        sites = sites_of(plan, flat, size)
        assert sum(site.copies for site in sites) == plan.sites
        computed = sum(s.copies * s.process for s in sites if s.phase is Phase.COMPUTE)
        assert math.isclose(computed, windows)


@pytest.mark.parametrize(("k", "gain"), [(2, 2.167), (4, 4.727), (8, 10.4)])
def test_the_speed_ups_of_the_ledger(k: int, gain: float) -> None:
    free = dict.fromkeys((2, 4, 8), CostCurve())
    alone = Costs(compute=CostCurve(loglinear=1.0), splits=free, combines=free)
    assert round(speed_up(SpreadPlan(SpreadStrategy.SPLIT, (k,)), alone, 8192), 3) == gain
    assert speed_up(CENTRAL, alone, 8192) == 1
