import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.functions.tuning.curves import CostCurve
from penstock.functions.tuning.plans import CENTRAL, SpreadPlan, SpreadStrategy
from penstock.functions.tuning.prediction import predict
from penstock.functions.tuning.sites import Costs, Phase, sites_of
from penstock.sim.flows import _Clock, run_flow
from tests.examples import examples

FANS = st.lists(st.sampled_from([2, 4]), min_size=1, max_size=2).map(tuple)
STRATEGIES = st.sampled_from([SpreadStrategy.DISTRIBUTE, SpreadStrategy.SPLIT])
STAGES = {2: CostCurve(linear=2e-6), 4: CostCurve(linear=4e-6)}
COSTS = Costs(
    CostCurve(1e-4, 1e-6),
    CostCurve(loglinear=2e-6),
    CostCurve(1e-4, 1e-6),
    1e-3,
    CostCurve(1e-4),
    CostCurve(2e-4),
    STAGES,
    STAGES,
)


@settings(max_examples=examples(30))
@given(STRATEGIES, FANS, st.sampled_from([256, 1024, 4096]), st.integers(0, 5))
def test_a_long_segment_takes_what_the_bottleneck_is_predicted_to(
    strategy: SpreadStrategy, fans: tuple[int, ...], size: int, seed: int
) -> None:
    plan, windows = SpreadPlan(strategy, fans), 4000
    run = run_flow(plan, COSTS, size, windows, seed=seed)
    told = predict(plan, COSTS, size).seconds * windows
    assert math.isclose(run.seconds, told, rel_tol=0.03)
    assert run.idle < 0.03


@given(st.integers(1, 20), st.sampled_from([256, 1024]))
def test_without_scatter_a_single_window_takes_the_sum_of_its_way(windows: int, size: int) -> None:
    plan = SpreadPlan(SpreadStrategy.SPLIT, (2,))
    part, compute, back = sites_of(plan, COSTS, size)
    run = run_flow(plan, COSTS, size, 1, seed=1, scatter=1e-6)
    way = part.seconds + compute.seconds + back.seconds
    assert math.isclose(run.seconds, way, rel_tol=1e-3)
    alone = run_flow(CENTRAL, COSTS, size, windows, seed=1, scatter=1e-6)
    assert math.isclose(
        alone.seconds, windows * predict(CENTRAL, COSTS, size).seconds, rel_tol=1e-3
    )


@given(st.integers(2, 12), st.lists(st.floats(0.01, 3), min_size=12, max_size=12))
def test_a_site_serves_as_brute_force_does(count: int, gaps: list[float]) -> None:
    arrivals = np.cumsum(gaps)[:count]
    (site,) = sites_of(CENTRAL, Costs(compute=CostCurve(fixed=1.0)), 8)
    clock = _Clock(COSTS, np.random.default_rng(1), 0.3)
    took = np.random.default_rng(1).gamma(1 / 0.3**2, 0.3**2, count)
    done, free = [], 0.0
    for at, seconds in zip(arrivals, took, strict=True):
        free = max(at, free) + seconds
        done.append(free)
    assert np.allclose(clock.serve(site, 0, arrivals), done)
    assert math.isclose(clock.busy[f"{Phase.COMPUTE} 0"], took.sum())
