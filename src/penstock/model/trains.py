"""Trains, the only unit of data that moves: their description; the engine holds the rows."""

import math
from dataclasses import dataclass

# Event times are microseconds since 1970, as Spark and Arrow keep them.
BEGIN_OF_TIME = -(2**63)
END_OF_TIME = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TrainInfo:
    """One finite, immutable, numbered run of tuples.

    `watermark` is the promise after this train: no later tuple has a time before it,
    except late ones. `arrived` is when the first tuple arrived (seconds since 1970), and
    `answerable` since when its rows could be given, where that is later: what closed a window
    comes behind the window's last tuple (decision 0043). After an
    `idle` train nothing may come for long: others need not wait for it. After a train with a
    `punctuation` no tuple comes for which that condition holds; such a train has no rows. Results
    of its tuples are worth nothing after its `deadline` (seconds since 1970). `depth` is how many
    rules, one after the other, led to the deepest of its tuples.
    """

    number: int
    rows: int
    size: int
    arrived: float
    first: int | None = None
    last: int | None = None
    watermark: int = BEGIN_OF_TIME
    idle: bool = False
    punctuation: str = ""
    deadline: float = math.inf
    depth: int = 0
    answerable: float | None = None

    @property
    def ready(self) -> float:
        """Return since when its rows could be given."""
        return self.arrived if self.answerable is None else self.answerable

    @property
    def is_end(self) -> bool:
        """Say whether the stream ends with this train."""
        return self.watermark == END_OF_TIME


def shifted(mark: int, offset: int) -> int:
    """Move a watermark, leaving the two ends of time where they are."""
    return mark if mark in (BEGIN_OF_TIME, END_OF_TIME) else mark + offset
