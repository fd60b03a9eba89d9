"""Pieces done side by side."""

import threading
from collections.abc import Callable

import pytest

from penstock.engine.spark.jobs.lanes import JobLanes


def test_results_come_in_order_whoever_is_done_first() -> None:
    lanes, both = JobLanes(2), threading.Barrier(2)

    def meets(value: int) -> Callable[[], int]:
        return lambda: both.wait(60) * 0 + value  # ends only where the other one runs as well

    assert lanes.do([meets(1), meets(2)]) == [1, 2]
    assert lanes.do([lambda n=n: n for n in range(50)]) == list(range(50))  # type: ignore[misc]
    lanes.close()


def test_what_fails_is_raised_and_the_lanes_go_on() -> None:
    lanes = JobLanes(2)
    with pytest.raises(ZeroDivisionError):
        lanes.do([lambda: 1.0, lambda: 1 / 0])
    assert lanes.do([lambda: 1, lambda: 2]) == [1, 2]
    lanes.close()


def test_nobody_waits_for_a_lane_that_never_ends() -> None:
    held, free = threading.Event(), JobLanes(1)
    threading.Thread(target=lambda: free.do([held.wait]), daemon=True).start()
    free.close()
    lanes = [each for each in threading.enumerate() if each.name.startswith("penstock-lane")]
    assert all(each.daemon for each in lanes)
    held.set()
