"""At most so many a second, whenever they come."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.events.rates import full, ready_at, take


@given(
    st.floats(0.1, 1000.0),
    st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(1, 5000)), min_size=1, max_size=30),
)
def test_no_stretch_of_time_lets_more_pass_than_its_seconds_and_one_more(
    rate: float, steps: list[tuple[float, int]]
) -> None:
    now, bucket, passed = 100.0, full(rate, 100.0), []
    for wait, wanted in steps:
        now += wait
        granted, bucket = take(bucket, rate, wanted, now)
        assert 0 <= granted <= wanted
        passed.append((now, granted))
    for place, (begin, _) in enumerate(passed):
        for end, _ in passed[place:]:
            within = sum(count for at, count in passed if begin <= at <= end)
            assert within <= max(1.0, rate) + rate * (end - begin) + 1e-6


@given(st.floats(0.1, 1000.0), st.integers(1, 50))
def test_who_waits_until_it_is_ready_always_gets_one(rate: float, count: int) -> None:
    now, bucket = 100.0, full(rate, 100.0)
    for _ in range(count):
        now = max(now, ready_at(bucket, rate)) + 1e-6
        granted, bucket = take(bucket, rate, 1, now)
        assert granted == 1
