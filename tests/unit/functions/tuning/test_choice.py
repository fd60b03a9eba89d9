from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.tuning.choice import FlowDemand, Model, choose
from penstock.functions.tuning.curves import CostCurve
from penstock.functions.tuning.plans import CENTRAL, PlanLimits, SpreadPlan, candidates
from penstock.functions.tuning.prediction import predict
from penstock.functions.tuning.profile import FunctionProfile, profile_of
from penstock.functions.tuning.sites import Costs
from tests.unit.functions.tuning.draws import SIZES, costs


def _by(costs: Costs, size: int, slots: int) -> Model:
    return lambda plan: predict(plan, costs, size, slots)


LIMITS = PlanLimits(8, divides=lambda _size, fan: fan in {2, 4, 8})


@given(costs(), SIZES, st.integers(1, 12), st.floats(0.1, 1000))
def test_by_prediction_it_is_brute_force_s_best(
    each: Costs, size: int, slots: int, rate: float
) -> None:
    found = choose(_by(each, size, slots), FlowDemand(size, rate, slots), LIMITS, margin=0.0)
    best = min(predict(plan, each, size, slots).seconds for plan in candidates(LIMITS, size))
    assert predict(found.chosen, each, size, slots).seconds == best
    assert {line.plan for line in found.lines} == set(candidates(LIMITS, size))
    assert found.utilisation(found.lines[0]) == rate * best


@given(costs(), SIZES, st.data())
def test_what_was_tried_decides_among_what_was_tried(
    each: Costs, size: int, data: st.DataObject
) -> None:
    told: dict[SpreadPlan, float] = {}

    def try_out(plans: Sequence[SpreadPlan]) -> dict[SpreadPlan, float]:
        told.update({plan: data.draw(st.floats(0.001, 10)) for plan in plans})
        return told

    asked = FlowDemand(size, 1.0, 2)
    found = choose(_by(each, size, 2), asked, LIMITS, try_out=try_out, tries=3, margin=0.0)
    assert len(told) == 4
    assert told[found.chosen] == min(told.values())
    spread = {plan for plan in told if plan != CENTRAL}
    worst = max(predict(plan, each, size, 2).seconds for plan in spread)
    left = [plan for plan in candidates(LIMITS, size) if plan not in told]
    assert all(predict(plan, each, size, 2).seconds >= worst for plan in left)
    tried = {line.plan: line.tried_seconds for line in found.lines if line.plan in told}
    assert tried == told


@given(costs(), SIZES, st.floats(0, 0.02))
def test_fewer_sites_are_taken_where_more_gain_next_to_nothing(
    each: Costs, size: int, gain: float
) -> None:
    found = choose(
        _by(each, size, 2),
        FlowDemand(size, 1.0, 2),
        LIMITS,
        try_out=lambda plans: {p: 1.0 if p == CENTRAL else 1.0 - gain for p in plans},
    )
    assert found.chosen == CENTRAL


def test_where_only_some_could_be_tried_one_of_them_is_chosen() -> None:
    model = _by(Costs(compute=CostCurve(loglinear=1e-6)), 1024, 4)
    asked, limits = FlowDemand(1024, 1.0, 4), PlanLimits(2)
    assert choose(model, asked, limits, try_out=lambda _: {CENTRAL: 9.0}).chosen == CENTRAL
    assert choose(model, asked, limits).chosen != CENTRAL


@given(costs(), SIZES, st.floats(0.1, 1e6))
def test_a_profile_is_the_same_after_it_was_kept(each: Costs, size: int, rate: float) -> None:
    profile = FunctionProfile("fft3", 2, size, rate, each)
    assert profile_of(profile.text()) == profile
    assert profile_of(replace(profile).text().replace('"form": 1', '"form": 99')) is None
