from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.model.goals import Goals
from penstock.qos.contracts.contracts import Account, Contract, Sampling, limits_of
from penstock.qos.monitor.digest import BUCKETS, Digest

SECONDS = st.lists(st.floats(1e-5, 1e5), min_size=1, max_size=200)


@given(SECONDS, st.floats(0.01, 1.0))
def test_a_quantile_is_within_a_hundredth_of_that_of_all_values(
    seconds: list[float], share: float
) -> None:
    exact = float(np.quantile(np.array(seconds), share, method="inverted_cdf"))
    assert abs(Digest().add(np.array(seconds)).quantile(share) - exact) <= 0.0101 * exact


@given(SECONDS, SECONDS)
def test_parts_add_up_to_the_whole(one: list[float], other: list[float]) -> None:
    parts = Digest().add(np.array(one)) + Digest().add(np.array(other))
    whole = Digest().add(np.array(one + other))
    assert (parts.weights == whole.weights).all()


def test_a_digest_takes_anything_and_stays_small() -> None:
    odd = np.array([0.0, -1.0, np.nan, np.inf, 1e-9, 1e12, 1.0])
    digest = Digest().add(odd)
    assert digest.weight == len(odd)
    assert len(digest.weights) == BUCKETS < 1500
    assert Digest().quantile(0.5) == 0.0


def test_who_states_no_error_wants_exact_answers() -> None:
    plain = Contract.of(Goals())
    assert (plain.max_error, plain.max_latency) == (0.0, float("inf"))
    stated = Contract.of(Goals(timedelta(seconds=2), 0.1, 3.0))
    limits = limits_of({"plain": plain, "stated": stated}, {})
    assert (limits["plain"].most, limits["stated"].most) == (0.0, 0.1)
    assert limits["stated"].weight == 3.0


def test_an_aggregate_may_give_up_more_tuples_than_its_error() -> None:
    contract = Contract(max_error=0.05)
    assert Sampling(rows=10_000).limit(contract).most > 0.8
    assert Sampling(rows=10).limit(contract).most < 0.05
    assert Sampling(rows=1e9).limit(contract).most <= 0.95
    assert Sampling(rows=10_000, bounded=False).limit(contract).most == 0


def test_a_latency_below_the_query_s_own_cost_is_refused_with_the_figure() -> None:
    Contract(0.5).refuse_below(0.4)
    with pytest.raises(BadOptionError) as raised:
        Contract(0.05).refuse_below(0.1234)
    assert "0.123 s" in raised.value.message
    assert "0.13 s" in raised.value.hint


def test_a_contract_is_kept_or_broken_by_what_was_measured() -> None:
    contract = Contract(1.0, 0.1)
    good = Account().delivered(contract, np.full(1000, 0.5)).answered(contract, np.full(20, 0.05))
    assert good.verdict().is_kept
    late = good.delivered(contract, np.full(20, 2.0))
    assert not late.verdict().is_in_time
    assert abs(late.verdict().late_share - 20 / 1020) < 1e-12
    wrong = good.answered(contract, np.array([0.2, np.nan, 0.2]))
    assert (wrong.verdict().is_in_time, wrong.verdict().is_exact_enough) == (True, False)
    assert (good + late).verdict().late_share == 20 / 2020


def test_a_query_that_delivered_nothing_broke_nothing() -> None:
    assert Account().verdict().is_kept
