import pytest

from penstock.cli.live_line import clock, count, live_line, span
from penstock.runtime.quality.live_figures import LiveFigures


def test_the_line_holds_every_figure_that_there_is() -> None:
    figures = LiveFigures(12_345.6, 7.25, 1000, p50=0.008, p99=1.26, delay=0.005, lag=2.0)
    assert live_line(figures, 75.0) == (
        "01:15  in 12,346/s  out 7.2/s  queued 1,000  latency p50 8 ms p99 1.3 s  "
        "delay p50 5 ms  lag 2.0 s"
    )


def test_a_system_that_warms_up_says_so() -> None:
    figures = LiveFigures(0.0, 0.0, 0, is_warming_up=True)
    assert live_line(figures, 1.0) == "00:01  warming up  in 0/s  out 0/s  queued 0"


def test_figures_that_are_not_there_are_left_out() -> None:
    assert live_line(LiveFigures(0.0, 0.0, 0), 0.0) == "00:00  in 0/s  out 0/s  queued 0"


@pytest.mark.parametrize(("seconds", "text"), [(0, "00:00"), (61.9, "01:01"), (3723, "1:02:03")])
def test_the_clock_counts_from_the_start(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (0.5, "0.5"), (3.0, "3"), (10.4, "10"), (1e6, "1,000,000")]
)
def test_counts_have_tenths_only_where_they_matter(number: float, text: str) -> None:
    assert count(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0 ms"), (0.999, "999 ms"), (1, "1.0 s"), (90, "2 min"), (7200, "2.0 h")],
)
def test_spans_have_the_unit_that_fits(seconds: float, text: str) -> None:
    assert span(seconds) == text
