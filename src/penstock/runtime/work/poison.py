"""Tuples on which a SELECT fails, told from those beside them.

Halves are tried, the larger ones first, until each tuple that fails alone is known, or so many
SELECTs have been run that the rest fails in the groups that are left.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from penstock.engine.spark.spark_errors import is_data_error
from penstock.errors import describe

MOST_TRIES = 200  # a SELECT over a few tuples takes some 50 ms; deliveries may wait for all of them

Work = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class TriedRows:
    """Neighbouring tuples, with what was made of them, or with why that failed."""

    rows: pa.Table
    made: pa.Table | None
    cause: str = ""


def separated(rows: pa.Table, work: Work, *, most: int = MOST_TRIES) -> list[TriedRows]:
    """Return all tuples in their order, those that `work` fails on apart from the others.

    Only what is wrong with data is a tuple's own fault; any other failure is raised.
    """
    found: dict[int, TriedRows] = {}
    waiting, tries = deque([(0, rows.num_rows)]), 0
    while waiting:
        first, count = waiting.popleft()
        piece = rows.slice(first, count)
        tries += 1
        try:
            found[first] = TriedRows(piece, work(piece))
        except Exception as error:
            if not is_data_error(error):
                raise
            if count == 1 or tries >= most:
                found[first] = TriedRows(piece, None, describe(error))
            else:
                half = count // 2
                waiting += [(first, half), (first + half, count - half)]
    return [found[first] for first in sorted(found)]
