"""Costs, sizes and fans as hypothesis draws them."""

from hypothesis import strategies as st

from penstock.functions.tuning.curves import CostCurve
from penstock.functions.tuning.plans import SpreadStrategy
from penstock.functions.tuning.sites import Costs

POWERS = st.sampled_from([2, 4, 8])
SIZES = st.sampled_from([256, 1024, 8192, 16384])
SECONDS = st.floats(0, 1e-3)
CURVES = st.builds(CostCurve, SECONDS, SECONDS, SECONDS)
TREES = st.lists(st.sampled_from([2, 4]), min_size=1, max_size=2).map(tuple)
STRATEGIES = st.sampled_from([SpreadStrategy.DISTRIBUTE, SpreadStrategy.SPLIT])


@st.composite
def costs(draw: st.DrawFn) -> Costs:
    by_fan = st.fixed_dictionaries(dict.fromkeys((2, 4, 8), CURVES))
    return Costs(
        draw(CURVES),
        draw(st.builds(CostCurve, st.floats(1e-6, 1e-3), SECONDS, SECONDS)),
        draw(CURVES),
        draw(SECONDS),
        draw(CURVES),
        draw(CURVES),
        draw(by_fan),
        draw(by_fan),
    )
