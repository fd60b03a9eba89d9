import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.shedding.worths import WorthCut, Worths, kept_by

WORTHS = st.lists(st.sampled_from([math.nan, -1e300, -1.0, 0.0, 2.0, 2.5, 1e300]), max_size=60)


@given(WORTHS, st.floats(-3, 3), st.floats(0.05, 1), st.floats(0, 1), st.integers(0, 9))
def test_at_least_a_share_stays_and_nobody_stays_who_is_worth_less_than_one_that_goes(
    worth: list[float], cut: float, ties: float, least: float, seed: int
) -> None:
    values, places = np.array(worth, dtype=float), np.arange(len(worth))
    passes = kept_by(WorthCut(cut, ties), seed, least, values, places)
    assert np.count_nonzero(passes) >= least * len(worth) - 1e-6
    filled = np.where(np.isnan(values), -np.inf, values)
    if passes.any() and not passes.all():
        assert filled[passes].min() >= filled[~passes].max()
    assert (passes == kept_by(WorthCut(cut, ties), seed, least, values, places)).all()


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("nulls", [0.0, 0.3])
def test_of_tuples_like_those_that_were_seen_the_share_stays(keep: float, nulls: float) -> None:
    drawn = np.random.default_rng(7)

    def train(rows: int) -> np.ndarray:
        worth = np.round(drawn.exponential(3, rows), 1)
        return np.where(drawn.random(rows) < nulls, np.nan, worth)

    worths = Worths()
    for second in range(40):
        worths = worths.add(train(500), float(second))
    values = train(20_000)
    passes = kept_by(worths.cut(keep), 1, 0.0, values, np.arange(len(values)))
    assert passes.mean() == pytest.approx(keep, abs=0.03)


def test_nobody_is_dropped_by_a_gate_that_has_seen_nothing() -> None:
    values = np.array([1.0, -5.0, 3.0])
    assert kept_by(Worths().cut(0.1), 1, 0.0, values, np.arange(3)).all()
