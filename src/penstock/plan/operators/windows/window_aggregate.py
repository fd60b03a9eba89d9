"""WindowAggregate: panes on arrival, windows when they close.

A pane is the longest span that every window is made of. Arriving tuples become *partials*, one
row for each key and pane; a window's row is combined from the partials of its panes once the
watermark has passed its end.

    tuples --pane_sql--> partials (state) --close_sql--> window rows
                             '--compact_sql--> fewer partials

Where an aggregate is holistic, or where a window's own rows are asked for, the partials are the
tuples themselves, with the columns in `raw` only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from penstock.model.own_names import BOUNDS, INPUT, LEFT, RIGHT, own
from penstock.model.schema import Schema, quoted
from penstock.model.stored_names import stored_as
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.windows.window_assigner import WindowAssigner

PANE = own("pane")
AT = own("at")
ARRIVAL = own("arrival")
NUMBER = own("window")
START, END = BOUNDS.values()
EMITTED = own("emitted")

Axis = Literal["time", "number"]
Numbers = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WindowAggregate:
    """`keys` are (name, SQL); the output is start, end, keys, aggregates.

    `raw` are the columns that tuples keep in the state, None for partials. Without `grouped` the
    output is start, end and the raw columns of every tuple. `early` and `lateness` are in
    microseconds: how often open windows give provisional rows, how long closed ones are kept.
    """

    input: Operator
    time: EventTime
    assigner: WindowAssigner = field(metadata=stored_as("hops"))
    keys: tuple[tuple[str, str], ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    schema: Schema
    axis: Axis = "time"
    raw: tuple[str, ...] | None = None
    grouped: bool = True
    early: int | None = None
    lateness: int = 0
    reads_history: bool = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the bounds that only grow: windows of one size grow in both."""
        assigner = self.assigner
        if self.axis == "number" or assigner.upper <= 0:
            return ()
        if not assigner.is_steady:
            return (EventTime(END),)
        bounds = (EventTime(START), EventTime(END, assigner.end - assigner.begin))
        if not self.is_instant:
            return bounds
        instants = (name for name, sql in self.keys if sql == quoted(self.time.column))
        return (*map(EventTime, instants), *bounds)

    @property
    def is_instant(self) -> bool:
        """Say whether each window is one moment: GROUP BY an event time."""
        return self.assigner.is_steady and self.assigner.end - self.assigner.begin == 1

    @property
    def marks_emission(self) -> bool:
        """Say whether rows carry how they were emitted."""
        return self.early is not None or self.lateness > 0

    def text(self) -> str:
        """Show windows, keys and aggregates."""
        keys = ", ".join(sql for _, sql in self.keys) or "nothing"
        aggregates = ", ".join(aggregate.text for _, aggregate in self.aggregates)
        asked = f"group by {keys}: {aggregates}" if self.grouped else "all of their tuples"
        kept = "" if self.raw is None else f"; keeps tuples ({', '.join(self.raw)})"
        early = "" if self.early is None else f"; early every {span_text(self.early)}"
        late = f"; corrected for {span_text(self.lateness)}" if self.lateness else ""
        return f"windows {self._shown()} by {self.time.column} {asked}{kept}{early}{late}"

    def _shown(self) -> str:
        assigner = self.assigner
        if self.axis == "number":
            return f"of tuples, {assigner.text()}"
        if assigner.endless:
            offset = f" from {span_text(assigner.begin)}" if assigner.begin else ""
            size = span_text(assigner.end - assigner.begin)
            return f"of {size} every {span_text(assigner.lower)}{offset}"
        return assigner.text()

    def sql(self, inputs: Sequence[str]) -> str:
        """Return the batch form: partials and windows in one SELECT, for analysis."""
        panes = self.pane_sql(inputs[0])
        if self.raw is not None:
            panes = f"SELECT *, 0L AS {ARRIVAL} FROM ({panes})"
        return self.close_sql(f"({panes})", (0, 0))

    def micros(self) -> str:
        """Return the place of an input row on the axis."""
        column = quoted(self.time.column)
        return column if self.axis == "number" else f"unix_micros({column})"

    def pane_sql(self, relation: str) -> str:
        """Return the SELECT that turns tuples into partials."""
        at = self.micros()
        inside = self.assigner.span_sql(at)
        where = f" WHERE {inside}" if inside else ""
        pane = f"{at} - pmod({at} - {self.assigner.begin}L, {self.assigner.pane}L) AS {PANE}"
        if self.raw is not None:
            columns = [*map(quoted, self.raw), f"{at} AS {AT}", pane]
            return f"SELECT {', '.join(columns)} FROM {relation} AS {INPUT}{where}"
        columns = [f"{sql} AS {quoted(name)}" for name, sql in self.keys]
        columns.append(pane)
        columns += [f"{sql} AS {name}" for name, sql in self._partials()]
        grouped = f"FROM {relation} AS {INPUT}{where} GROUP BY {self._ordinals()}"
        return f"SELECT {', '.join(columns)} {grouped}"

    def compact_sql(self, parts: str, collapse_before: int | None = None) -> str:
        """Return the SELECT that combines the partials of equal keys and panes.

        Panes before `collapse_before` become one: a landmark needs them only together.
        """
        pane = PANE
        if collapse_before is not None:
            pane = (
                f"CASE WHEN {PANE} < {collapse_before}L THEN {self.assigner.begin}L ELSE {PANE} END"
            )
        columns = [*self._key_names(), f"{pane} AS {PANE}", *self._combined()]
        return f"SELECT {', '.join(columns)} FROM {parts} GROUP BY {self._ordinals()}"

    def close_sql(
        self,
        parts: str,
        numbers: Numbers,
        *,
        emitted: str = "final",
        touched: str | None = None,
    ) -> str:
        """Return the SELECT of the windows of these numbers, the first and the last.

        With `touched` (partials), only the rows of windows and keys that those belong to.
        """
        spread = self._keyed_sql(parts, numbers)
        if touched is not None:
            spread = self._touched_sql(spread, self._keyed_sql(touched, numbers))
        shown = [*self._bounds(), *self._values()]
        if self.marks_emission:
            shown.append(f"'{emitted}' AS {EMITTED}")
        return f"SELECT {', '.join(shown)} FROM ({self._gathered_sql(spread)})"

    def _gathered_sql(self, spread: str) -> str:
        """Return the SELECT that makes one row of what belongs to one window and key."""
        if not self.grouped:
            return spread
        names = [*self._key_names(), NUMBER]
        if self.raw is None:
            columns = [*names, *self._combined()]
            return f"SELECT {', '.join(columns)} FROM ({spread}) GROUP BY {', '.join(names)}"
        # In order of time, ties by arrival, for those aggregates that look at the order.
        order = ", ".join([*names, AT, ARRIVAL])
        ordered = f"{spread} DISTRIBUTE BY {', '.join(names)} SORT BY {order}"
        columns = [*names, *(f"{sql} AS {name}" for name, sql in self._partials())]
        return (
            f"SELECT {', '.join(columns)} FROM ({ordered}) AS {INPUT} GROUP BY {', '.join(names)}"
        )

    def _keyed_sql(self, parts: str, numbers: Numbers) -> str:
        spread = self._spread_sql(parts, numbers)
        if self.raw is None or not self.keys:
            return spread
        keys = (f"{sql} AS {quoted(name)}" for name, sql in self.keys)
        return f"SELECT *, {', '.join(keys)} FROM ({spread}) AS {INPUT}"

    def _touched_sql(self, spread: str, touched: str) -> str:
        names = [*self._key_names(), NUMBER]
        same = " AND ".join(f"{LEFT}.{name} <=> {RIGHT}.{name}" for name in names)
        met = f"({spread}) AS {LEFT} LEFT SEMI JOIN ({touched}) AS {RIGHT}"
        return f"SELECT {LEFT}.* FROM {met} ON {same}"

    def _bounds(self) -> list[str]:
        start = f"{self.assigner.begin}L + {NUMBER} * {self.assigner.lower}L"
        end = f"{self.assigner.end}L + {NUMBER} * {self.assigner.upper}L"
        if self.axis == "number":
            return [f"{start} AS {START}", f"{end} - 1L AS {END}"]
        return [f"timestamp_micros({start}) AS {START}", f"timestamp_micros({end}) AS {END}"]

    def _values(self) -> list[str]:
        if not self.grouped:
            return [quoted(name) for name in self.raw or ()]
        finished = [f"{each.finish_sql(name)} AS {name}" for name, each in self.aggregates]
        return [*self._key_names(), *finished]

    def _spread_sql(self, parts: str, numbers: Numbers) -> str:
        """Return the SELECT that gives every partial once for each window that it belongs to."""
        assigner, (first, last) = self.assigner, numbers
        if assigner.is_steady and assigner.lower == assigner.pane == assigner.end - assigner.begin:
            low, high = assigner.start_of(first), assigner.start_of(last)
            number = f"({PANE} - {assigner.begin}L) div {assigner.lower}L AS {NUMBER}"
            return f"SELECT *, {number} FROM {parts} WHERE {PANE} BETWEEN {low}L AND {high}L"
        low_sql, high_sql = assigner.numbers_sql(PANE, first, last)
        inside = f"CASE WHEN {low_sql} <= {high_sql} THEN sequence({low_sql}, {high_sql}, 1L) END"
        return f"SELECT *, explode({inside}) AS {NUMBER} FROM {parts}{self._within(numbers)}"

    def _within(self, numbers: Numbers) -> str:
        """Return the bounds of the panes that the windows need, which prune what is read."""
        ends = (
            [self.assigner.start_of(n) for n in numbers],
            [self.assigner.end_of(n) for n in numbers],
        )
        return f" WHERE {PANE} >= {min(ends[0])}L AND {PANE} < {max(ends[1])}L"

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


def span_text(micros: int) -> str:
    """Return a length of time to the microsecond: two lengths never look the same."""
    whole, rest = divmod(micros, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + " s"
