import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.tuning.choice import FlowDemand, choose
from penstock.functions.tuning.curves import CostCurve
from penstock.functions.tuning.plans import (
    CENTRAL,
    PlanLimits,
    SpreadPlan,
    SpreadStrategy,
    candidates,
)
from penstock.functions.tuning.sites import Costs, Phase
from penstock.functions.tuning.stage_costs import predict_staged
from tests.unit.functions.tuning.draws import POWERS, SIZES, STRATEGIES, TREES, costs

FREE = dict.fromkeys((2, 4, 8), CostCurve())


@given(POWERS, SIZES, st.integers(1, 8))
def test_with_a_linear_function_alone_tasks_come_in_rounds(k: int, size: int, slots: int) -> None:
    alone = Costs(compute=CostCurve(linear=1e-6), splits=FREE, combines=FREE)
    for strategy in (SpreadStrategy.DISTRIBUTE, SpreadStrategy.SPLIT):
        told = predict_staged(SpreadPlan(strategy, (k,)), alone, size, slots).seconds
        assert math.isclose(told, math.ceil(k / slots) * size * 1e-6 / k)


@given(costs(), SIZES, st.integers(1, 8))
def test_the_central_function_has_all_slots(each: Costs, size: int, slots: int) -> None:
    silent = replace(each, receive=CostCurve(), send=CostCurve(), system=0.0)
    told = predict_staged(CENTRAL, silent, size, slots).seconds
    assert math.isclose(told * slots, silent.compute.at(size))
    assert told <= predict_staged(CENTRAL, each, size, slots).seconds


@given(costs(), SIZES, STRATEGIES, TREES, st.integers(1, 8))
def test_more_slots_and_cheaper_windows_never_take_longer(
    each: Costs, size: int, strategy: SpreadStrategy, fans: tuple[int, ...], slots: int
) -> None:
    plan = SpreadPlan(strategy, fans)
    told = predict_staged(plan, each, size, slots).seconds
    assert predict_staged(plan, each, size, slots + 1).seconds <= told
    dearer = replace(each, compute=each.compute.times(2), system=each.system + 1e-6)
    assert predict_staged(plan, dearer, size, slots).seconds >= told
    assert predict_staged(plan, each, 2 * size, slots).seconds >= told


@given(costs(), SIZES, TREES)
def test_all_parts_of_a_window_are_cut_once_on_each_level(
    each: Costs, size: int, fans: tuple[int, ...]
) -> None:
    """Over all branches, cuts are those of GSDM's partition sites."""
    silent = replace(each, receive=CostCurve(), send=CostCurve(), compute=CostCurve(), system=0.0)
    told = predict_staged(SpreadPlan(SpreadStrategy.SPLIT, fans), silent, size, 1)
    cuts = told.sites[0].process * told.sites[0].copies
    wanted, whole = 0.0, size
    for level, fan in enumerate(fans):
        # Every branch below cuts for itself what it needs of a level.
        below = math.prod(fans[level + 1 :])
        wanted += math.prod(fans[:level]) * below * silent.splits[fan].at(whole)
        whole //= fan
    assert math.isclose(cuts, wanted, abs_tol=1e-15)


@given(costs(), SIZES, STRATEGIES, TREES)
def test_stages_are_branches_and_then_combinations_from_the_inside_out(
    each: Costs, size: int, strategy: SpreadStrategy, fans: tuple[int, ...]
) -> None:
    told = predict_staged(SpreadPlan(strategy, fans), each, size, 2)
    first, *others = told.sites
    assert (first.phase, first.copies) == (Phase.COMPUTE, math.prod(fans))
    assert [site.level for site in others] == list(reversed(range(len(fans))))
    assert [site.copies for site in others] == [
        math.prod(fans[:level]) for level in reversed(range(len(fans)))
    ]
    assert told.bottleneck in {site.name for site in told.sites}


@given(costs(), SIZES, st.integers(1, 4))
def test_the_choice_by_stages_is_brute_force_s_best(each: Costs, size: int, slots: int) -> None:
    limits = PlanLimits(4, divides=lambda _size, fan: fan in {2, 4})
    found = choose(
        lambda plan: predict_staged(plan, each, size, slots),
        FlowDemand(size, 1.0, slots),
        limits,
        margin=0.0,
    )
    every = [predict_staged(plan, each, size, slots).seconds for plan in candidates(limits, size)]
    assert predict_staged(found.chosen, each, size, slots).seconds == min(every)
    assert predict_staged(CENTRAL, each, size, slots).seconds >= min(every)
