"""Modify: each tuple with the one before it in its partition (modifiers, ANA-22).

    carry + new tuples --step_sql--> rows, and the last tuple of each partition: the next carry

The input is in order, so its numbers tell which tuple is before which.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.model.own_names import own
from penstock.model.schema import Schema, quoted
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.tuples.ordered import NUMBER

NEW, OLD = own("new"), own("old")
# What a run gives beside the rows: the tuple's number, whether it has an old one, the carry.
AT, HAS_OLD, CARRY = own("at"), own("has_old"), own("carry")
LAST, NEXT, TUPLES = own("last"), own("next"), own("w")


@dataclass(frozen=True, slots=True)
class Modify:
    """`columns` are (name, SQL over `_new` and `_old`); `used` are the input's that these need.

    `shows_old` is the profile 'O': the other columns are the old tuple's.
    """

    input: Operator
    keys: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    used: tuple[str, ...]
    schema: Schema
    times: tuple[EventTime, ...] = ()
    shows_old: bool = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def time(self) -> EventTime | None:
        """Return the event time of the input."""
        return self.input.times[0] if self.input.times else None

    def text(self) -> str:
        """Show the expressions and the partition."""
        shown = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self.columns)
        keys = f" within {', '.join(self.keys)}" if self.keys else ""
        return f"modify{keys}: {shown}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Return the batch form, for analysis."""
        names = ", ".join(quoted(name) for name, _ in self.columns)
        step = self.step_sql(f"({self.tuples_sql(inputs[0])})", 0)
        return f"SELECT {names} FROM ({step}) WHERE {HAS_OLD}"

    def tuples_sql(self, relation: str) -> str:
        """Return the SELECT of what has to be known of a tuple."""
        columns = [quoted(name) for name in self.used]
        columns += [f"{sql} AS {name}" for name, sql in zip(self._keys(), self.keys, strict=True)]
        return f"SELECT {', '.join([*columns, NUMBER])} FROM {relation}"

    def step_sql(self, tuples: str, since: int) -> str:
        """Return the SELECT over carry and new tuples, which are those numbered above `since`."""
        whole = f"struct({', '.join([*map(quoted, self.used), *self._keys(), NUMBER])})"
        partition = f"PARTITION BY {', '.join(self._keys())} " if self.keys else ""
        paired = (
            f"SELECT {whole} AS {NEW}, lag({whole}) OVER {TUPLES} AS {OLD}, "
            f"lead({NUMBER}) OVER {TUPLES} IS NULL AS {LAST} "
            f"FROM {tuples} WINDOW {TUPLES} AS ({partition}ORDER BY {NUMBER})"
        )
        shown = [
            *(f"{sql} AS {quoted(name)}" for name, sql in self.columns),
            f"{NEW}.{NUMBER} AS {AT}",
            f"{OLD} IS NOT NULL AS {HAS_OLD}",
            f"CASE WHEN {LAST} THEN {NEW} END AS {CARRY}",
        ]
        return f"SELECT {', '.join(shown)} FROM ({paired}) WHERE {NEW}.{NUMBER} > {since}L"

    def compact_sql(self, carry: str) -> str:
        """Return the SELECT of the last tuple of each partition."""
        columns = [*map(quoted, self.used), *self._keys(), NUMBER]
        partition = f"PARTITION BY {', '.join(self._keys())} " if self.keys else ""
        lasts = (
            f"SELECT *, lead({NUMBER}) OVER ({partition}ORDER BY {NUMBER}) AS {NEXT} FROM {carry}"
        )
        return f"SELECT {', '.join(columns)} FROM ({lasts}) WHERE {NEXT} IS NULL"

    def steps_sql(self) -> Iterator[tuple[str, str]]:
        """Return when which SELECT runs, for EXPLAIN."""
        both = f"SELECT * FROM carry UNION ALL {self.tuples_sql('input')}"
        yield "then:", self.step_sql(f"({both})", 0)

    def _keys(self) -> list[str]:
        return [f"_key{place}" for place in range(len(self.keys))]
