import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.qos.monitor.slack import Slack

SECOND, HOUR = 1.0, 3600.0


def times(drawn: np.random.Generator, start: float, delay: float, rows: int = 500) -> np.ndarray:
    """Return the times of a second's tuples, each up to some exponential delay old."""
    return start + np.linspace(0, SECOND, rows) - drawn.exponential(delay, rows)


def follow(
    seconds: int, delay: float, slack: Slack | None = None, at: float = 0.0
) -> tuple[Slack, np.random.Generator]:
    drawn, slack = np.random.default_rng(1), slack or Slack()
    for second in range(seconds):
        slack = slack.add(times(drawn, at + second, delay), at + second)
    return slack, drawn


@pytest.mark.parametrize("share", [0.9, 0.99, 0.999])
@pytest.mark.parametrize("delay", [0.1, 2.0])
def test_the_slack_keeps_the_stated_share_in_time(share: float, delay: float) -> None:
    slack, drawn = follow(60, delay)
    bound, high, late, total = slack.slack(share), slack.high or 0.0, 0, 0
    for second in range(60, 90):
        train = times(drawn, float(second), delay)
        greatest = np.maximum.accumulate(np.concatenate([[high], train]))[:-1]
        late, total = late + int((greatest - train > bound).sum()), total + len(train)
        high = max(high, float(train.max()))
    assert late / total <= (1 - share) * 1.3 + 1e-3
    assert late > 0  # and it is no wider than it has to be


def test_a_sorted_stream_needs_none() -> None:
    slack = Slack()
    for second in range(20):
        slack = slack.add(np.linspace(second, second + 0.9, 50), float(second))
    assert slack.slack() == 0.0


def test_a_time_far_in_the_future_makes_nobody_late() -> None:
    slack, drawn = follow(30, 0.5)
    before = slack.slack()
    stray = times(drawn, 30.0, 0.5)
    stray[3] = 1e9
    slack = slack.add(stray, 30.0)
    slack, _ = follow(20, 0.5, slack, at=31.0)
    assert slack.strays == 1
    assert slack.slack() < 2 * before


@pytest.mark.parametrize("jump", [10 * HOUR, -10 * HOUR])
def test_a_clock_that_was_set_is_followed(jump: float) -> None:
    slack, drawn = follow(30, 0.5)
    before = slack.slack()
    for second in range(30, 60):
        slack = slack.add(times(drawn, second + jump, 0.5), float(second))
    assert slack.jumps == 1
    assert (slack.high or 0.0) == pytest.approx(60 + jump, abs=5)
    assert slack.slack() < 2 * before


def test_a_flood_after_an_hour_of_silence_is_no_jump() -> None:
    slack, _ = follow(30, 0.5)
    slack, _ = follow(10, 0.5, slack, at=30 + HOUR)
    assert (slack.jumps, slack.strays) == (0, 0)
    assert slack.slack() < 10


@given(st.lists(st.lists(st.floats(-1e12, 1e12), max_size=5), max_size=10))
def test_any_times_are_taken(trains: list[list[float]]) -> None:
    slack = Slack()
    for second, train in enumerate(trains):
        slack = slack.add(np.array([*train, np.nan]), float(second))
    assert slack.slack() >= 0


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(BadOptionError):
        Slack().slack(1.0)
