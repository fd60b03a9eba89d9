"""When an action that failed is tried again."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from penstock.events.retries import LONGEST_WAIT, next_try
from penstock.model.rules import ActionLimits

LIMITS = st.builds(
    ActionLimits,
    retries=st.integers(0, 100),
    backoff=st.integers(1, 100_000).map(lambda n: timedelta(milliseconds=n)),
)


@given(LIMITS)
def test_it_is_tried_as_often_as_the_limit_says_and_waits_never_get_shorter(
    limits: ActionLimits,
) -> None:
    waits, tries = [], 1
    while (due := next_try(limits, tries, 1000.0)) is not None:
        waits.append(due - 1000.0)
        tries += 1
    assert len(waits) == limits.retries
    assert waits == sorted(waits)
    if waits:
        first = limits.backoff.total_seconds()
        assert abs(waits[0] - first) < 1e-6
        assert waits[-1] <= max(LONGEST_WAIT, first) + 1e-6
