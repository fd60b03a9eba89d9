"""How fast a stream was worked through, from the times at which its batches were done."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything up to `rows` rows of the stream was done at `at` (seconds)."""

    rows: int
    at: float


def rows_a_second(marks: Sequence[Mark], after_rows: int) -> float:
    """Return the rate from the first mark at or behind `after_rows` to the last mark."""
    begin = next(mark for mark in marks if mark.rows >= after_rows)
    end = marks[-1]
    return (end.rows - begin.rows) / (end.at - begin.at)
