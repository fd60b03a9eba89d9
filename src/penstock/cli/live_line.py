"""The live line: a run's figures on one line of a terminal."""

from penstock.runtime.quality.live_figures import LiveFigures

MINUTE, HOUR = 60, 3600
TENTHS_BELOW = 10.0


def live_line(figures: LiveFigures, elapsed: float) -> str:
    """Return the line, without what there is no figure for."""
    parts = [
        clock(elapsed),
        *(["warming up"] if figures.is_warming_up else []),
        f"in {count(figures.rows_in)}/s",
        f"out {count(figures.rows_out)}/s",
        f"queued {count(figures.queued)}",
    ]
    if figures.p50 is not None and figures.p99 is not None:
        parts.append(f"latency p50 {span(figures.p50)} p99 {span(figures.p99)}")
    if figures.delay is not None:
        parts.append(f"delay p50 {span(figures.delay)}")
    if figures.lag is not None:
        parts.append(f"lag {span(figures.lag)}")
    return "  ".join(parts)


def clock(seconds: float) -> str:
    """Return a time since the start: 00:12, 1:02:33."""
    hours, rest = divmod(int(seconds), HOUR)
    minutes, left = divmod(rest, MINUTE)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes:02}:{left:02}"


def count(number: float) -> str:
    """Return a number with its thousands apart, and tenths where it is small."""
    if 0 < number < TENTHS_BELOW and number != int(number):
        return f"{number:.1f}"
    return f"{number:,.0f}"


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun: 1 query, 2 queries."""
    return f"{number:,} {one if number == 1 else many}"


def span(seconds: float) -> str:
    """Return a length of time: 8 ms, 1.3 s, 2 min, 3.4 h."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < HOUR else f"{seconds / HOUR:.1f} h"
