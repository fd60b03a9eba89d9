import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.joins.shares import fair_shares

WANTED = st.lists(st.floats(0, 1e6), max_size=8)


@given(st.floats(0, 1e6), WANTED)
def test_nobody_gets_less_than_another_unless_it_wants_no_more(
    memory: float, wanted: list[float]
) -> None:
    shares = fair_shares(memory, wanted)
    assert sum(shares) == pytest.approx(min(memory, sum(wanted)))
    most = max(shares, default=0.0)
    for share, asked in zip(shares, wanted, strict=True):
        assert share == pytest.approx(asked) or (share < asked and share == pytest.approx(most))


def test_small_needs_are_met_whole() -> None:
    assert fair_shares(100, [10, 300, 80]) == [10, 45, 45]
    assert fair_shares(100, [10, 30]) == [10, 30]
    assert fair_shares(-5, [10, 30]) == [0, 0]
