"""SessionAggregate: tuples of a group belong together while neighbours are at most a gap apart.

    tuples --islands_sql--> partial sessions --+--merge_sql--> sessions: open ones are the state,
                            open sessions -----+               closed ones --close_sql--> rows

Where an aggregate is holistic the sessions have no partials: the tuples themselves are kept, with
the columns in `raw` only, and meet their session when it closes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.model.own_names import INPUT, LEFT, RIGHT, own
from penstock.model.schema import Schema, quoted
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.windows.grouping_sets import each_set_sql, sets_text
from penstock.plan.operators.windows.span_text import span_text
from penstock.plan.operators.windows.window_aggregate import END, START

AT, ARRIVAL = own("at"), own("arrival")
FIRST, LAST = own("first"), own("last")
LATE, NEW, ISLAND, BEGINS = own("late"), own("new"), own("island"), own("begins")
BEFORE = "ROWS BETWEEN UNBOUNDED PRECEDING AND"


@dataclass(frozen=True, slots=True)
class SessionAggregate:
    """`gap` in microseconds; `keys` are (name, SQL); the output is start, end, keys, aggregates."""

    input: Operator
    time: EventTime
    gap: int
    keys: tuple[tuple[str, str], ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    schema: Schema
    raw: tuple[str, ...] | None = None
    sets: int = 0

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the end, by which sessions close; an open one may have begun at any time."""
        return (EventTime(END),)

    def text(self) -> str:
        """Show gap, keys and aggregates."""
        keys = ", ".join(sql for _, sql in self.keys) or "nothing"
        aggregates = ", ".join(aggregate.text for _, aggregate in self.aggregates)
        kept = "" if self.raw is None else f"; keeps tuples ({', '.join(self.raw)})"
        gap = f"a gap of {span_text(self.gap)} by {self.time.column}"
        return f"sessions with {gap} per {keys}: {aggregates}{kept}{sets_text(self.sets)}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Return the batch form, for analysis."""
        tuples = f"({self.tuples_sql(inputs[0], arrival='0L')})"
        sessions = f"({self.merge_sql(self.islands_sql(tuples, 'false'))})"
        if self.raw is None:
            return self.close_sql(sessions)
        return self.close_raw_sql(sessions, tuples)

    def tuples_sql(self, relation: str, arrival: str = "monotonically_increasing_id()") -> str:
        """Return the SELECT of what has to be known of a tuple; `arrival` numbers them."""
        columns = ["*"] if self.raw is None else [quoted(name) for name in self.raw]
        columns += [f"{sql} AS {name}" for name, sql in self.keys]
        columns.append(f"unix_micros({quoted(self.time.column)}) AS {AT}")
        columns.append(f"{arrival} AS {ARRIVAL}")
        return f"SELECT {', '.join(columns)} FROM {each_set_sql(relation, self.sets)} AS {INPUT}"

    def late_sql(self, relation: str, limit: int) -> str:
        """Return the SELECT of the input's tuples up to a time (microseconds)."""
        return f"SELECT * FROM {relation} AS {INPUT} WHERE {self._micros()} <= {limit}L"

    def islands_sql(self, tuples: str, is_late: str) -> str:
        """Return the SELECT from tuples to the sessions that they make among themselves.

        Those for which the condition `is_late` holds make sessions apart from the others.
        """
        window = self._over([LATE], [AT, ARRIVAL])
        told = f"SELECT *, {is_late} AS {LATE} FROM {tuples}"
        begins = f"CASE WHEN {AT} - lag({AT}) OVER {window} <= {self.gap}L THEN 0L ELSE 1L END"
        begun = f"SELECT *, {begins} AS {BEGINS} FROM ({told})"
        count = f"sum({BEGINS}) OVER {window[:-1]} {BEFORE} CURRENT ROW)"
        placed = f"SELECT *, {count} AS {ISLAND} FROM ({begun})"
        columns = [
            *self._names(),
            f"min({AT}) AS {FIRST}",
            f"max({AT}) AS {LAST}",
            LATE,
            f"1 AS {NEW}",
            *(f"{sql} AS {name}" for name, sql in self._partials()),
        ]
        by = ", ".join([*self._names(), LATE, ISLAND])
        return f"SELECT {', '.join(columns)} FROM ({placed}) AS {INPUT} GROUP BY {by}"

    def merge_sql(self, new: str, state: str | None = None) -> str:
        """Return the SELECT of all sessions, those that have met as one."""
        partials = [name for name, _ in self._partials()]
        columns = [*self._names(), FIRST, LAST, LATE, NEW, *partials]
        both = f"SELECT {', '.join(columns)} FROM ({new})"
        if state is not None:
            told = {LATE: f"false AS {LATE}", NEW: f"0 AS {NEW}"}
            known = [told.get(column, column) for column in columns]
            both = f"SELECT {', '.join(known)} FROM {state} UNION ALL {both}"
        window = self._over([LATE], [FIRST, LAST, NEW])[:-1]
        reached = f"max({LAST}) OVER {window} {BEFORE} 1 PRECEDING)"
        begins = f"CASE WHEN {FIRST} - {reached} <= {self.gap}L THEN 0L ELSE 1L END"
        begun = f"SELECT *, {begins} AS {BEGINS} FROM ({both})"
        count = f"sum({BEGINS}) OVER {window} {BEFORE} CURRENT ROW)"
        placed = f"SELECT *, {count} AS {ISLAND} FROM ({begun})"
        # What is known came first: an aggregate that collects keeps the order of arrival.
        groups = [*self._names(), LATE, ISLAND]
        apart = f"DISTRIBUTE BY {', '.join(self._names())} " if self.keys else ""
        ordered = f"{placed} {apart}SORT BY {', '.join([*groups, NEW])}"
        shown = [
            *self._names(),
            f"min({FIRST}) AS {FIRST}",
            f"max({LAST}) AS {LAST}",
            LATE,
            *(f"{sql} AS {name}" for name, sql in self._combined()),
        ]
        return f"SELECT {', '.join(shown)} FROM ({ordered}) GROUP BY {', '.join(groups)}"

    def close_sql(self, sessions: str) -> str:
        """Return the SELECT from sessions to rows."""
        return f"SELECT {', '.join(self._shown())} FROM {sessions}"

    def close_raw_sql(self, sessions: str, tuples: str) -> str:
        """Return the SELECT from sessions and kept tuples to rows."""
        same = [f"{LEFT}.{name} <=> {RIGHT}.{name}" for name in self._names()]
        on = " AND ".join([*same, f"{LEFT}.{AT} BETWEEN {RIGHT}.{FIRST} AND {RIGHT}.{LAST}"])
        met = (
            f"SELECT /*+ BROADCAST({RIGHT}) */ {LEFT}.*, {RIGHT}.{FIRST}, {RIGHT}.{LAST} "
            f"FROM {tuples} AS {LEFT} JOIN {sessions} AS {RIGHT} ON {on}"
        )
        groups = [*self._names(), FIRST, LAST]
        # In order of time, ties by arrival, for those aggregates that look at the order.
        order = ", ".join([*groups, AT, ARRIVAL])
        ordered = f"SELECT * FROM ({met}) DISTRIBUTE BY {', '.join(groups)} SORT BY {order}"
        columns = [*groups, *(f"{sql} AS {name}" for name, sql in self._all_partials())]
        gathered = (
            f"SELECT {', '.join(columns)} FROM ({ordered}) AS {INPUT} GROUP BY {', '.join(groups)}"
        )
        return f"SELECT {', '.join(self._shown())} FROM ({gathered})"

    def needed_sql(self, tuples: str, sessions: str) -> str:
        """Return the SELECT of the kept tuples that belong to one of the sessions."""
        same = [f"{LEFT}.{name} <=> {RIGHT}.{name}" for name in self._names()]
        on = " AND ".join([*same, f"{LEFT}.{AT} BETWEEN {RIGHT}.{FIRST} AND {RIGHT}.{LAST}"])
        met = f"{tuples} AS {LEFT} LEFT SEMI JOIN {sessions} AS {RIGHT}"
        return f"SELECT {LEFT}.* FROM {met} ON {on}"

    def steps_sql(self) -> Iterator[tuple[str, str]]:
        """Return when which SELECT runs, for EXPLAIN."""
        tuples = f"({self.tuples_sql('input')})" if self.raw is None else "tuples"
        if self.raw is not None:
            yield "keeps:", self.tuples_sql("input")
        yield "then:", self.merge_sql(self.islands_sql(tuples, "false"), "sessions")
        if self.raw is None:
            yield "at a close:", self.close_sql("closed_sessions")
        else:
            yield "at a close:", self.close_raw_sql("closed_sessions", "kept_tuples")

    def _micros(self) -> str:
        return f"unix_micros({quoted(self.time.column)})"

    def _over(self, more: list[str], order: list[str]) -> str:
        partition = ", ".join([*self._names(), *more])
        return f"(PARTITION BY {partition} ORDER BY {', '.join(order)})"

    def _shown(self) -> list[str]:
        return [
            f"timestamp_micros({FIRST}) AS {START}",
            f"timestamp_micros({LAST} + {self.gap}L) AS {END}",
            *self._names(),
            *(f"{each.finish_sql(name)} AS {name}" for name, each in self.aggregates),
        ]

    def _names(self) -> list[str]:
        return [name for name, _ in self.keys]

    def _partials(self) -> list[tuple[str, str]]:
        return self._all_partials() if self.raw is None else []

    def _all_partials(self) -> list[tuple[str, str]]:
        return [part for name, each in self.aggregates for part in each.partial_sql(name)]

    def _combined(self) -> list[tuple[str, str]]:
        if self.raw is not None:
            return []
        return [part for name, each in self.aggregates for part in each.combine_sql(name)]
