from datetime import timedelta

import pytest

from penstock.errors import BadOptionError
from penstock.model.definitions import StopAfter


@pytest.mark.parametrize(
    ("tuples", "interval"),
    [
        (None, None),
        (1, timedelta(1)),
        (0, None),
        (-1, None),
        (None, timedelta(0)),
        (None, timedelta(-1)),
    ],
)
def test_a_query_stops_after_one_thing_that_is_above_zero(
    tuples: int | None, interval: timedelta | None
) -> None:
    with pytest.raises(BadOptionError):
        StopAfter(tuples, interval)


def test_a_query_stops_after_tuples_or_after_a_time() -> None:
    assert StopAfter(tuples=1) != StopAfter(interval=timedelta(microseconds=1))
