import math

from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.functions.tuning.place import (
    DRIVER,
    WORKERS,
    predict_placed,
    with_ways,
    worth_trying,
)
from penstock.functions.tuning.plans import CENTRAL, SpreadPlan, SpreadStrategy
from penstock.functions.tuning.sites import Costs
from penstock.functions.tuning.stage_costs import predict_staged
from tests.unit.functions.tuning.draws import SIZES, STRATEGIES, TREES, costs

TWO = SpreadPlan(SpreadStrategy.DISTRIBUTE, (2,))


@given(costs(), SIZES, st.integers(1, 4), st.floats(0, 1e-2), st.floats(0, 10))
def test_what_was_seen_of_workers_is_what_is_predicted_of_them(
    each: Costs, size: int, slots: int, crossing: float, more: float
) -> None:
    ways = with_ways(each, TWO, size, slots, {"crossing": crossing, "elapsed": 0.0})
    elapsed = predict_staged(TWO, ways, size, slots).seconds + more
    found = with_ways(each, TWO, size, slots, {"crossing": crossing, "elapsed": elapsed})
    assert math.isclose(predict_staged(TWO, found, size, slots).seconds, elapsed)
    assert math.isclose(4 * found.receive.at(size), crossing, abs_tol=1e-15)


@given(costs(), costs(), SIZES, STRATEGIES, TREES)
def test_the_better_place_counts_and_what_cannot_be_better_is_not_tried(
    here: Costs, there: Costs, size: int, strategy: SpreadStrategy, fans: tuple[int, ...]
) -> None:
    plan, places = SpreadPlan(strategy, fans), {DRIVER: here, WORKERS: there}
    each = {name: predict_staged(plan, c, size, 2).seconds for name, c in places.items()}
    told = predict_placed(plan, places, size, 2)
    assert told.seconds == min(each.values())
    assert told.bottleneck.endswith(min(each, key=each.__getitem__))
    tried = worth_trying(plan, places, size, 2)
    assert min(each, key=each.__getitem__) in tried
    assume(len(tried) == 1)
    assert max(each.values()) > 1.4 * min(each.values())


@given(costs(), costs(), SIZES)
def test_one_function_in_one_place_may_be_by_workers_too(
    here: Costs, there: Costs, size: int
) -> None:
    places = {DRIVER: here, WORKERS: there}
    each = {name: predict_staged(CENTRAL, c, size, 2).seconds for name, c in places.items()}
    assert min(each, key=each.__getitem__) in worth_trying(CENTRAL, places, size, 2)
    assert worth_trying(CENTRAL, {WORKERS: there}, size, 2) == (WORKERS,)
