import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.qos.shedding.gates import LEAST_KEEP, DropGate, seed_of, xxhash64
from penstock.qos.shedding.quantiles import Quantiles
from penstock.qos.shedding.semantic import semantic_gate

LONGS = st.integers(-(2**63), 2**63 - 1)
KEEPS = st.floats(LEAST_KEEP, 1.0)


def test_the_hash_is_that_of_spark() -> None:
    # SELECT xxhash64(1L), xxhash64(1L, -7L), xxhash64(0L) of Spark 4.3
    one, minus_seven, zero = np.array([1]), np.array([-7]), np.array([0])
    assert xxhash64(one)[0] == -7001672635703045582
    assert xxhash64(zero)[0] == -5252525462095825812
    assert xxhash64(one, minus_seven)[0] != xxhash64(minus_seven, one)[0]


@given(KEEPS, KEEPS, LONGS, st.integers(0, 1000))
def test_a_higher_keep_rate_keeps_all_that_a_lower_one_kept(
    one: float, other: float, seed: int, train: int
) -> None:
    rows = np.arange(200)
    trains = np.full(200, train)
    low = DropGate(min(one, other), seed).passes(trains, rows)
    high = DropGate(max(one, other), seed).passes(trains, rows)
    assert not (low & ~high).any()


@given(st.lists(LONGS, min_size=1, max_size=40), KEEPS, LONGS)
def test_a_tuple_s_fate_depends_on_its_number_alone(
    numbers: list[int], keep: float, seed: int
) -> None:
    gate = DropGate(keep, seed)
    whole = gate.passes(np.array(numbers))
    one_by_one = [gate.passes(np.array([each]))[0] for each in numbers]
    assert whole.tolist() == one_by_one


def test_a_gate_that_keeps_all_drops_none() -> None:
    extremes = np.array([-(2**63), 2**63 - 1, 0, 1])
    assert DropGate(1.0, 5).passes(extremes).all()
    assert DropGate(1.0, 5).cut == 2**63 - 1


@pytest.mark.parametrize("keep", [0.05, 0.3, 0.5, 0.9])
def test_the_share_that_stays_is_the_keep_rate(keep: float) -> None:
    many = 100_000
    share = DropGate(keep, 7).passes(np.arange(many)).mean()
    assert abs(share - keep) < 5 * (keep * (1 - keep) / many) ** 0.5


def test_gates_in_a_row_multiply() -> None:
    numbers = np.arange(200_000)
    low, high = DropGate(0.5, seed_of(1, "a")), DropGate(0.4, seed_of(1, "b"))
    both = low.passes(numbers) & high.passes(numbers)
    assert abs(both.mean() - 0.2) < 0.005


@pytest.mark.parametrize("keep", [0.0, LEAST_KEEP / 2, -1.0, 1.01, float("nan")])
def test_a_gate_never_closes_and_keeps_no_more_than_there_is(keep: float) -> None:
    with pytest.raises(BadOptionError):
        DropGate(keep, 1)


@given(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, float("nan")]), min_size=200, max_size=400),
    st.floats(0.1, 1.0),
)
def test_a_semantic_gate_keeps_the_best_and_the_right_share(
    worth: list[float], keep: float
) -> None:
    values = np.array(worth)
    numbers = np.arange(len(values))
    nulls = float(np.isnan(values).mean())
    gate = semantic_gate(Quantiles().add(values, 0.0), keep, 3, nulls)
    stays = gate.passes(values, numbers)
    filled = np.where(np.isnan(values), -np.inf, values)
    if stays.any() and not stays.all():
        assert filled[stays].min() >= filled[~stays].max()
    assert abs(stays.mean() - keep) < 0.12  # ties are sampled, and a trickle of them stays


def test_a_semantic_gate_follows_the_distribution() -> None:
    drawn = np.random.default_rng(1)
    seen = Quantiles()
    for second in range(30):
        seen = seen.add(drawn.normal(100, 15, 2000), float(second))
    gate = semantic_gate(seen, 0.2, 1)
    share = gate.passes(drawn.normal(100, 15, 50_000), np.arange(50_000)).mean()
    assert abs(share - 0.2) < 0.01
    for second in range(30, 600):
        seen = seen.add(drawn.normal(200, 15, 2000), float(second))
    share = (
        semantic_gate(seen, 0.2, 1).passes(drawn.normal(200, 15, 50_000), np.arange(50_000)).mean()
    )
    assert abs(share - 0.2) < 0.015
