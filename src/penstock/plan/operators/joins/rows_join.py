"""RowsJoin: joins in which an input stays for its last tuples (decision 0006).

All tuples stand in one order: time, then the place of their input in FROM, then arrival. Each has
its number in it, and for every input with ROWS the count of that input's tuples up to it. So a
tuple p of an input i with ROWS n is there at a later tuple q where q.count(i) - p.count(i) < n,
and a tuple of an input with a span is there where q's time is at most p's plus the span. Tuples of
several inputs are there together where each two are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.model.own_names import own, side
from penstock.model.schema import Column, Schema, quoted
from penstock.model.trains import shifted
from penstock.plan.operators.joins.join_input import (
    JoinInput,
    JoinStep,
    alone_sql,
    columns_of,
    columns_text,
)
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.windows.span_text import span_text

TIME, NUMBER = own("time"), own("number")
HIDDEN_PREFIX = own("count")


@dataclass(frozen=True, slots=True)
class Stay:
    """How long a tuple stays: for its input's next `rows` tuples, or for `span` microseconds."""

    rows: int | None = None
    span: int | None = None

    def text(self) -> str:
        """Show it."""
        return f"{self.rows} rows" if self.span is None else span_text(self.span)


@dataclass(frozen=True, slots=True)
class RowsJoin:
    """`steps` join the inputs from the left; with more than two none preserves a later input.

    Then each row has a tuple of the first input, so what that tuple makes is known when it has
    passed: rows of such a join `wait` for that, unless all steps are INNER.
    """

    joined: tuple[JoinInput, ...]
    stays: tuple[Stay, ...]
    steps: tuple[JoinStep, ...]

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the inputs in the order of FROM."""
        return tuple(each.operator for each in self.joined)

    @property
    def schema(self) -> Schema:
        """Return the columns of all inputs, or of the left alone."""
        return Schema(tuple(column for _, column in columns_of(self.joined, self.steps)))

    @property
    def late_schema(self) -> Schema:
        """Return the columns of all inputs: a tuple that came too late has those of its own."""
        return Schema(tuple(column for each in self.joined for column in each.schema()))

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the event times of inputs with a span; those of ROWS may be of any age."""
        found = []
        for place, (each, stay) in enumerate(zip(self.joined, self.stays, strict=True)):
            if stay.span is None or self._may_be_null(place):
                continue
            found.append(EventTime(dict(each.columns)[each.time.column], -stay.span))
        return tuple(found)

    @property
    def preserved(self) -> tuple[int, ...]:
        """Return the inputs whose tuples come, or are decided upon, without a partner."""
        if len(self.steps) == 1:
            return self.steps[0].preserved
        return (0,) if self.waits else ()

    @property
    def waits(self) -> bool:
        """Say whether rows come only when the tuple of the first input has passed."""
        return len(self.steps) > 1 and any(step.kind != "INNER" for step in self.steps)

    def _may_be_null(self, place: int) -> bool:
        lone = self.steps[place - 1].is_lone if place else False
        return lone or any(each != place for each in self.preserved)

    def text(self) -> str:
        """Show windows and steps."""
        stays = ", ".join(stay.text() for stay in self.stays)
        by = ", ".join(each.time.column for each in self.joined)
        columns = columns_text(self.joined)
        steps = "; ".join(step.text() for step in self.steps)
        return f"{steps} of the last {stays} by {by}: {columns}"

    def watermark(self, marks: Sequence[int]) -> int:
        """Return the time up to which every tuple has its place."""
        pairs = zip(marks, self.joined, strict=True)
        return min(shifted(mark, each.time.offset) for mark, each in pairs)

    # -- SQL -----------------------------------------------------------------------------

    @property
    def counted(self) -> tuple[int, ...]:
        """Return the inputs with ROWS."""
        return tuple(place for place, stay in enumerate(self.stays) if stay.rows is not None)

    def arrival_schema(self, place: int) -> Schema:
        """Return what is kept of a tuple that waits for its place."""
        return Schema((*self.joined[place].schema(), Column(TIME, "bigint")))

    def state_schema(self, place: int) -> Schema:
        """Return what is kept of a tuple that has its place."""
        counts = (Column(count_of(each), "bigint") for each in self.counted)
        return Schema((*self.arrival_schema(place), Column(NUMBER, "bigint"), *counts))

    def arrival_sql(self, place: int, relation: str) -> str:
        """Return the SELECT from an input's rows to those that wait."""
        each = self.joined[place]
        return each.select_sql(relation, f"{each.micros_sql()} AS {TIME}")

    def sql(self, inputs: Sequence[str]) -> str:
        """Return a batch form for analysis; places and counts come from the engine."""
        hidden = "".join(f", 0L AS {name}" for name in (NUMBER, *map(count_of, self.counted)))
        relations: dict[str, str] = {}
        for place, relation in enumerate(inputs):
            rows = f"(SELECT *{hidden} FROM ({self.arrival_sql(place, relation)}))"
            relations |= {f"{kind}_{place}": rows for kind in ("new", "old", "all", "passed")}
        return self.run_sql(relations)

    def steps_sql(self) -> Iterator[tuple[str, str]]:
        """Yield when which SELECT runs, for those who read it."""
        kinds = ("new", "old", "all", "passed")
        names = [f"{kind}_{place}" for place in self._places for kind in kinds]
        yield "in order:", self.run_sql({name: name for name in names})

    def run_sql(self, relations: Mapping[str, str]) -> str:
        """Return the SELECT of a run; what has no rows is left out of `relations`.

        They are the new, the old, all, and the now passed tuples of each input: new_0, passed_1 …
        """
        return " UNION ALL ".join(self._branches(relations))

    def _branches(self, at: Mapping[str, str]) -> Iterator[str]:
        kind = self.steps[0].kind
        if self.waits:
            yield from self._of_passed(at)
            return
        if kind == "LEFT SEMI":
            yield from self._first_partners(at)
        elif kind != "LEFT ANTI":
            yield from self._combinations(at)
        if kind != "LEFT SEMI":
            for place in self.preserved:
                yield from self._without_partner(at, place)

    def _of_passed(self, at: Mapping[str, str]) -> Iterator[str]:
        """Yield all that the passed tuples of the first input make."""
        if "passed_0" not in at:
            return
        sql = f"{at['passed_0']} AS {side(0)}"
        for place, step in enumerate(self.steps, 1):
            others = at.get(f"all_{place}") or self._nobody(place)
            sql += f" {step.kind} JOIN {others} AS {side(place)} ON {self._joins(place)}"
        shown = (f"{side(p)}.{quoted(c.name)}" for p, c in columns_of(self.joined, self.steps))
        yield f"SELECT {', '.join(shown)} FROM {sql}"

    def _joins(self, place: int) -> str:
        """Return the condition of a step as `meets` does, where inputs before may be missing."""
        there = [
            f"({side(each)}.{NUMBER} IS NULL OR {self._is_there(*pair)})"
            for each in range(place)
            if not (each and self.steps[each - 1].is_lone)
            for pair in ((each, place), (place, each))
        ]
        on = self.steps[place - 1].on
        return " AND ".join([*([on] if on else []), *there])

    def _nobody(self, place: int) -> str:
        """Return a relation of an input without rows."""
        columns = (f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in self.state_schema(place))
        return f"(SELECT {', '.join(columns)} WHERE false)"

    def _combinations(self, at: Mapping[str, str]) -> Iterator[str]:
        """Yield those whose first new tuple is of each input in turn: so each comes once."""
        columns = ", ".join(
            f"{side(p)}.{quoted(c.name)}" for p, c in columns_of(self.joined, self.steps)
        )
        for first in range(len(self.joined)):
            kinds = ["old" if p < first else "new" if p == first else "all" for p in self._places]
            names = [f"{kind}_{place}" for place, kind in enumerate(kinds)]
            if any(name not in at for name in names):
                continue
            sql = f"SELECT {columns} FROM {at[names[0]]} AS {side(0)}"
            for place in self._places[1:]:
                sql += f" JOIN {at[names[place]]} AS {side(place)} ON {self.meets(place)}"
            yield sql

    def _first_partners(self, at: Mapping[str, str]) -> Iterator[str]:
        columns, meets = ", ".join(quoted(c.name) for c in self.schema), self.meets(1)
        if "new_0" in at and "all_1" in at:
            yield (
                f"SELECT {columns} FROM {at['new_0']} AS {side(0)} "
                f"LEFT SEMI JOIN {at['all_1']} AS {side(1)} ON {meets}"
            )
        if "old_0" in at and "new_1" in at:
            first, other = side(0), side(1)
            found = f"{at['old_0']} AS {first} LEFT SEMI JOIN {at['new_1']} AS {other} ON {meets}"
            if "old_1" in at:
                found = f"(SELECT * FROM {found}) AS {first}"
                found += f" LEFT ANTI JOIN {at['old_1']} AS {other} ON {meets}"
            yield f"SELECT {columns} FROM {found}"

    def _without_partner(self, at: Mapping[str, str], place: int) -> Iterator[str]:
        if f"passed_{place}" not in at:
            return
        found, other = f"{at[f'passed_{place}']} AS {side(place)}", 1 - place
        if f"all_{other}" in at:
            found += f" LEFT ANTI JOIN {at[f'all_{other}']} AS {side(other)} ON {self.meets(1)}"
        yield f"SELECT {', '.join(alone_sql(self.joined, self.steps, place))} FROM {found}"

    def meets(self, place: int) -> str:
        """Return the condition under which a tuple joins those of the inputs before it."""
        on = self.steps[place - 1].on
        there = [
            self._is_there(*pair)
            for each in range(place)
            for pair in ((each, place), (place, each))
        ]
        return " AND ".join([*([on] if on else []), *there])

    def _is_there(self, mine: int, other: int) -> str:
        """Return when a tuple is there at one of another input; at an earlier one it always is."""
        stay = self.stays[mine]
        if stay.rows is None:
            return f"{side(other)}.{TIME} <= {side(mine)}.{TIME} + {stay.span}L"
        count = count_of(mine)
        return f"{side(other)}.{count} - {side(mine)}.{count} < {stay.rows}L"

    @property
    def _places(self) -> range:
        return range(len(self.joined))


def count_of(place: int) -> str:
    """Return the column that counts an input's tuples."""
    return f"{HIDDEN_PREFIX}{place}"
