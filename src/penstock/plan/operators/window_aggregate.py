"""WindowAggregate: panes on arrival, windows when they close.

A pane is the longest span that every window is made of: the greatest common divisor of size
and slide. Arriving tuples become *partials*, one row for each key and pane; a window's row is
combined from the partials of its panes once the watermark has passed its end.

    tuples --pane_sql--> partials (state) --close_sql--> window rows
                             '--compact_sql--> fewer partials
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.schema import Schema, quoted
from penstock.plan.aggregates import Aggregate
from penstock.plan.operators.operator import EventTime, Operator

PANE = "_pane"
START = "window_start"
END = "window_end"


@dataclass(frozen=True, slots=True)
class WindowAggregate:
    """Sizes in microseconds; `keys` are (name, SQL); the output is start, end, keys, aggregates."""

    input: Operator
    time: EventTime
    size: int
    slide: int
    keys: tuple[tuple[str, str], ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    schema: Schema

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the window's bounds: the end runs ahead of the start by the size."""
        return (EventTime(START), EventTime(END, self.size))

    @property
    def pane(self) -> int:
        """Return the pane's length."""
        return math.gcd(self.size, self.slide)

    def text(self) -> str:
        """Show window, keys and aggregates."""
        seconds = f"{_seconds(self.size)} every {_seconds(self.slide)} by {self.time.column}"
        keys = ", ".join(sql for _, sql in self.keys) or "nothing"
        aggregates = ", ".join(aggregate.text for _, aggregate in self.aggregates)
        return f"windows of {seconds} group by {keys}: {aggregates}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Return the batch form: partials and windows in one SELECT, for analysis."""
        return self.close_sql(f"({self.pane_sql(inputs[0])})", None)

    def micros(self) -> str:
        """Return the event time of an input row in microseconds."""
        return f"unix_micros({quoted(self.time.column)})"

    def pane_sql(self, relation: str) -> str:
        """Return the SELECT that turns tuples into partials."""
        time = self.micros()
        columns = [f"{sql} AS {quoted(name)}" for name, sql in self.keys]
        columns.append(f"{time} - pmod({time}, {self.pane}L) AS {PANE}")
        columns += [f"{sql} AS {name}" for name, sql in self._partials()]
        return f"SELECT {', '.join(columns)} FROM {relation} GROUP BY {self._ordinals()}"

    def compact_sql(self, parts: str) -> str:
        """Return the SELECT that combines the partials of equal keys and panes."""
        columns = [*self._key_names(), PANE, *self._combined()]
        return f"SELECT {', '.join(columns)} FROM {parts} GROUP BY {self._ordinals()}"

    def close_sql(self, parts: str, starts: tuple[int, int] | None) -> str:
        """Return the SELECT of the windows that start from the first to the last of `starts`."""
        columns = [*self._key_names(), "_start", *self._combined()]
        combined = (
            f"SELECT {', '.join(columns)} FROM ({self._spread_sql(parts, starts)}) "
            f"GROUP BY {self._ordinals()}"
        )
        shown = [
            f"timestamp_micros(_start) AS {START}",
            f"timestamp_micros(_start + {self.size}L) AS {END}",
            *self._key_names(),
            *(f"{each.finish_sql(name)} AS {name}" for name, each in self.aggregates),
        ]
        return f"SELECT {', '.join(shown)} FROM ({combined})"

    def _spread_sql(self, parts: str, starts: tuple[int, int] | None) -> str:
        first, last = starts or (None, None)
        if self.slide == self.size:
            bounds = f" WHERE {PANE} BETWEEN {first}L AND {last}L" if starts else ""
            return f"SELECT *, {PANE} AS _start FROM {parts}{bounds}"
        low = f"{PANE} - {self.size - self.pane}L"
        low = f"{low} + pmod(-({low}), {self.slide}L)"
        high = f"{PANE} - pmod({PANE}, {self.slide}L)"
        bounds = ""
        if first is not None and last is not None:
            low, high = f"greatest({low}, {first}L)", f"least({high}, {last}L)"
            bounds = f" WHERE {PANE} >= {first}L AND {PANE} < {last + self.size}L"
        return (
            f"SELECT *, explode(sequence({low}, {high}, {self.slide}L)) AS _start "
            f"FROM {parts}{bounds}"
        )

    def _key_names(self) -> list[str]:
        return [quoted(name) for name, _ in self.keys]

    def _partials(self) -> list[tuple[str, str]]:
        return [part for name, each in self.aggregates for part in each.partial_sql(name)]

    def _combined(self) -> list[str]:
        return [
            f"{sql} AS {part}"
            for name, each in self.aggregates
            for part, sql in each.combine_sql(name)
        ]

    def _ordinals(self) -> str:
        return ", ".join(str(place) for place in range(1, len(self.keys) + 2))


def _seconds(micros: int) -> str:
    """Return a length of time to the microsecond: two lengths never look the same."""
    whole, rest = divmod(micros, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + " s"
