"""HopJoin: windows that slide, joined one by one when they close (MAV-35 to MAV-37).

A row appears in every window that holds all of its tuples. `recompute` joins each window anew;
`reuse` keeps each combination of an inner join as it is found, with the windows that hold all of
it, and only lists it when they close. The answers are the same: the first keeps less, the second
joins less.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.model.definitions import JoinMode
from penstock.model.own_names import own, side
from penstock.model.schema import Column, Schema, quoted
from penstock.model.trains import shifted
from penstock.plan.operators.joins.join_input import JoinInput, JoinStep, columns_of, columns_text
from penstock.plan.operators.joins.time_buckets import BUCKET, bucket_sql, spread_sql
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.windows.span_text import span_text
from penstock.plan.operators.windows.window_aggregate import END, START

TIME, WINDOW, LOW, HIGH = own("time"), own("start"), own("low"), own("high")


@dataclass(frozen=True, slots=True)
class HopJoin:
    """Sizes in microseconds; `steps` join the inputs of a window from the left."""

    joined: tuple[JoinInput, ...]
    size: int
    slide: int
    steps: tuple[JoinStep, ...]
    mode: JoinMode = "recompute"

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the inputs in the order of FROM."""
        return tuple(each.operator for each in self.joined)

    @property
    def schema(self) -> Schema:
        """Return the window's bounds and the columns of the inputs."""
        bounds = (Column(START, "timestamp"), Column(END, "timestamp"))
        return Schema((*bounds, *(c for _, c in columns_of(self.joined, self.steps))))

    @property
    def late_schema(self) -> Schema:
        """Return the columns of all inputs: a tuple that came too late has those of its own."""
        return Schema(tuple(column for each in self.joined for column in each.schema()))

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the window's bounds: the end runs ahead of the start by the size."""
        return (EventTime(START), EventTime(END, self.size))

    def text(self) -> str:
        """Show windows, steps and mode."""
        by = ", ".join(each.time.column for each in self.joined)
        span = f"{span_text(self.size)} every {span_text(self.slide)} by {by}"
        columns = columns_text(self.joined)
        steps = "; ".join(step.text() for step in self.steps)
        return f"{steps} of windows of {span} ({self.mode}): {columns}"

    def watermark(self, marks: Sequence[int]) -> int:
        """Return the time up to which windows close."""
        pairs = zip(marks, self.joined, strict=True)
        return min(shifted(mark, each.time.offset) for mark, each in pairs)

    def first_window(self, time: int) -> int:
        """Return the start of the first window that holds a time."""
        return (time - self.size) // self.slide * self.slide + self.slide

    def last_window(self, time: int) -> int:
        """Return the start of the last window that holds a time."""
        return time // self.slide * self.slide

    # -- SQL -----------------------------------------------------------------------------

    def state_schema(self, place: int) -> Schema:
        """Return what is kept of a tuple."""
        return Schema((*self.joined[place].schema(), Column(TIME, "bigint")))

    def state_sql(self, place: int, relation: str) -> str:
        """Return the SELECT from an input's rows to what is kept."""
        each = self.joined[place]
        return each.select_sql(relation, f"{each.micros_sql()} AS {TIME}")

    def pair_schema(self) -> Schema:
        """Return what is kept of a combination: its columns, its first and its last window."""
        columns = (column for _, column in columns_of(self.joined, self.steps))
        return Schema((*columns, Column(LOW, "bigint"), Column(HIGH, "bigint")))

    def sql(self, inputs: Sequence[str]) -> str:
        """Return the batch form, for analysis."""
        rows = [f"({self.state_sql(place, each)})" for place, each in enumerate(inputs)]
        return self.windows_sql(rows, (0, 0))

    def steps_sql(self) -> Iterator[tuple[str, str]]:
        """Yield when which SELECT runs, for those who read it."""
        if self.mode == "recompute":
            rows = [f"tuples_{place}" for place in range(len(self.joined))]
            yield "at a close:", self.windows_sql(rows, (0, 0))
            return
        places = range(len(self.joined))
        names = [f"{kind}_{place}" for place in places for kind in ("new", "old", "all")]
        relations = {name: name for name in names}
        yield "each run:", self.pairs_sql(relations)
        yield "few keys:", self.pairs_sql(relations, by_time=True)
        yield "at a close:", self.listed_sql("pairs", (0, 0))

    def windows_sql(self, rows: Sequence[str], starts: tuple[int, int]) -> str:
        """Return the SELECT that joins the windows which start from the first to the last."""
        low, high = (self._window_sql(TIME, shift) for shift in (self.size, 0))
        spread = [self._spread_sql(each, low, high, starts) for each in rows]
        sql, start = f"{spread[0]} AS {side(0)}", f"{side(0)}.{WINDOW}"
        for place, step in enumerate(self.steps, 1):
            on = f"{side(place)}.{WINDOW} = {start}" + (f" AND {step.on}" if step.on else "")
            sql += f" {step.kind} JOIN {spread[place]} AS {side(place)} ON {on}"
            if step.preserved and 1 in step.preserved:
                start = f"coalesce({start}, {side(place)}.{WINDOW})"
        columns = [f"{side(p)}.{quoted(c.name)}" for p, c in columns_of(self.joined, self.steps)]
        return f"SELECT {', '.join((*self._bounds(start), *columns))} FROM {sql}"

    def pairs_sql(self, at: Mapping[str, str], *, by_time: bool = False) -> str:
        """Return the SELECT of what new tuples make; where that can be nothing it is empty.

        With `by_time` they meet by the hash of their time buckets, too.
        """
        return " UNION ALL ".join(self._found(at, by_time=by_time))

    def _found(self, at: Mapping[str, str], *, by_time: bool) -> Iterator[str]:
        """Yield the combinations whose first new tuple is of each input in turn: so each once."""
        places = range(len(self.joined))
        low, high = self._common_windows(len(places))
        columns = [f"{side(p)}.{quoted(c.name)}" for p, c in columns_of(self.joined, self.steps)]
        columns += [f"{low} AS {LOW}", f"{high} AS {HIGH}"]
        for first in places:
            kinds = ["old" if p < first else "new" if p == first else "all" for p in places]
            names = [f"{kind}_{place}" for place, kind in enumerate(kinds)]
            if all(name in at for name in names):
                relations = [at[name] for name in names]
                together = self._together_sql(relations, by_time=by_time)
                yield f"SELECT {', '.join(columns)} FROM {together}"

    def _together_sql(self, relations: Sequence[str], *, by_time: bool) -> str:
        """Return the join of tuples that some window holds together; ON is asked of these alone."""
        sql = f"{relations[0]} AS {side(0)}"
        for place, step in enumerate(self.steps, 1):
            low, high = self._common_windows(place + 1)
            rows, conditions = relations[place], [f"{low} <= {high}", step.on]
            if by_time:
                rows = spread_sql(rows, f"{TIME} - {self.size}L", self.reach)
                bucket = bucket_sql(f"{side(0)}.{TIME}", self.reach)
                conditions.insert(0, f"{bucket} = {side(place)}.{BUCKET}")
            sql += f" JOIN {rows} AS {side(place)} ON {' AND '.join(filter(None, conditions))}"
        return sql

    @property
    def reach(self) -> int:
        """Return how long the time is in which a tuple finds those of one window with it."""
        return 2 * self.size

    def _common_windows(self, inputs: int) -> tuple[str, str]:
        """Return the first and the last window that hold a tuple of each of the first inputs."""
        times = ", ".join(f"{side(place)}.{TIME}" for place in range(inputs))
        return (
            self._window_sql(f"greatest({times})", self.size),
            self._window_sql(f"least({times})", 0),
        )

    def listed_sql(self, pairs: str, starts: tuple[int, int]) -> str:
        """Return the SELECT that lists combinations in the windows from the first to the last."""
        columns = [quoted(column.name) for _, column in columns_of(self.joined, self.steps)]
        spread = self._spread_sql(pairs, LOW, HIGH, starts)
        return f"SELECT {', '.join((*self._bounds(WINDOW), *columns))} FROM {spread}"

    def _bounds(self, start: str) -> tuple[str, str]:
        return (
            f"timestamp_micros({start}) AS {START}",
            f"timestamp_micros({start} + {self.size}L) AS {END}",
        )

    def _window_sql(self, time: str, back: int) -> str:
        """Return the start of the last window at or before a time, or of the one after `back`."""
        at = f"({time} - {back}L)" if back else time
        start = f"{at} - pmod({at}, {self.slide}L)"
        return f"({start} + {self.slide}L)" if back else f"({start})"

    def _spread_sql(self, rows: str, low: str, high: str, starts: tuple[int, int]) -> str:
        """Return rows once for each of their windows that start within `starts`."""
        low, high = f"greatest({low}, {starts[0]}L)", f"least({high}, {starts[1]}L)"
        windows = f"CASE WHEN {low} <= {high} THEN sequence({low}, {high}, {self.slide}L) END"
        return f"(SELECT *, explode({windows}) AS {WINDOW} FROM {rows})"
