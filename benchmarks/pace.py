"""How fast a stream was worked through, from the times at which its batches were done."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.cpu import Usage


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything up to `rows` rows of the stream was done at `at` (seconds since 1970)."""

    rows: int
    at: float


@dataclass(frozen=True, slots=True)
class Pace:
    """Rows a second, and CPU seconds for a million rows."""

    rows_a_second: float
    cpu_a_million: float


def pace(marks: Sequence[Mark], after_rows: int, usage: Usage) -> Pace:
    """Return the pace from the first mark at or behind `after_rows` to the last mark."""
    begin = next(mark for mark in marks if mark.rows >= after_rows)
    end = marks[-1]
    rows = end.rows - begin.rows
    return Pace(rows / (end.at - begin.at), usage.between(begin.at, end.at) / rows * 1_000_000)
