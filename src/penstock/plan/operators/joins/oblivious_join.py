"""ObliviousJoin: a join by keys that order their streams, without a window (TIME-01, TIME-07).

A tuple stays as long as a partner may come: until the other inputs have passed its key, which the
disorder of their tuples says and nothing else (`qos/joins/release.py`, decision 0074).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.model.definitions import WHATEVER, Keeping
from penstock.model.key_order import KeyOrder
from penstock.model.own_names import own, side
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.operators.joins.join_input import (
    JoinInput,
    JoinStep,
    alone_sql,
    columns_of,
    columns_text,
)
from penstock.plan.operators.operator import EventTime, Operator

KEY = own("key")
SQL_OF_KEYS = {"timestamp": "unix_micros({})", "date": "CAST(unix_date({}) AS BIGINT)"}


@dataclass(frozen=True, slots=True)
class KeyedInput(JoinInput):
    """One input with the order of its key; `time` is the key, whatever its type."""

    order: KeyOrder

    @property
    def key_type(self) -> str:
        """Return the type of the key."""
        column = self.operator.schema.find(self.time.column)
        return "" if column is None else column.type

    def key_sql(self) -> str:
        """Return the key as a whole number."""
        return SQL_OF_KEYS.get(self.key_type, "CAST({} AS BIGINT)").format(quoted(self.time.column))


@dataclass(frozen=True, slots=True)
class ObliviousJoin:
    """`steps` join the inputs from the left, each by its key; of more than two all are INNER."""

    joined: tuple[KeyedInput, ...]
    steps: tuple[JoinStep, ...]
    keeping: Keeping = WHATEVER

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
        """Return none: what is still kept may be of any age."""
        return ()

    @property
    def preserved(self) -> tuple[int, ...]:
        """Return the inputs whose tuples come, or are decided upon, without a partner."""
        return tuple(place for step in self.steps for place in step.preserved)

    @property
    def decides(self) -> bool:
        """Say whether it gives tuples without a partner, or once whatever partners they have."""
        return any(step.kind != "INNER" for step in self.steps)

    def text(self) -> str:
        """Show keys with their orders, and steps."""
        keys = ", ".join(each.order.text() for each in self.joined)
        steps = "; ".join(step.text() for step in self.steps)
        return f"{steps} without a window, in the order of {keys}: {columns_text(self.joined)}"

    def state_schema(self, place: int) -> Schema:
        """Return what is kept of a tuple."""
        return Schema((*self.joined[place].schema(), Column(KEY, "bigint")))

    def arrival_sql(self, place: int, relation: str) -> str:
        """Return the SELECT from an input's rows to those that are kept."""
        each = self.joined[place]
        return each.select_sql(relation, f"{each.key_sql()} AS {KEY}")

    def sql(self, inputs: Sequence[str]) -> str:
        """Return a batch form for analysis; who is still kept, the engine knows."""
        relations: dict[str, str] = {}
        for place, relation in enumerate(inputs):
            rows = f"({self.arrival_sql(place, relation)})"
            relations |= {f"{kind}_{place}": rows for kind in ("new", "old", "all", "passed")}
        return self.run_sql(relations)

    def steps_sql(self) -> Iterator[tuple[str, str]]:
        """Yield when which SELECT runs, for those who read it."""
        kinds = ("new", "old", "all", "passed")
        names = [f"{kind}_{place}" for place in self._places for kind in kinds]
        yield "what came:", self.run_sql({name: name for name in names})

    def run_sql(self, at: Mapping[str, str]) -> str:
        """Return the SELECT of a run; what has no rows is left out of `at`.

        They are the new, the old, all, and the now decided tuples of each input: new_0, passed_1 …
        """
        return " UNION ALL ".join(self._branches(at))

    def _branches(self, at: Mapping[str, str]) -> Iterator[str]:
        kind = self.steps[0].kind
        if kind == "LEFT SEMI":
            yield from self._first_partners(at)
        elif kind != "LEFT ANTI":
            yield from self._combinations(at)
        if kind != "LEFT SEMI":
            for place in self.preserved:
                yield from self._without_partner(at, place)

    def _combinations(self, at: Mapping[str, str]) -> Iterator[str]:
        """Yield those whose first new tuple is of each input in turn: so each comes once."""
        shown = ", ".join(
            f"{side(p)}.{quoted(c.name)}" for p, c in columns_of(self.joined, self.steps)
        )
        for first in self._places:
            kinds = ["old" if p < first else "new" if p == first else "all" for p in self._places]
            names = [f"{kind}_{place}" for place, kind in enumerate(kinds)]
            if any(name not in at for name in names):
                continue
            sql = f"SELECT {shown} FROM {at[names[0]]} AS {side(0)}"
            for place, step in enumerate(self.steps, 1):
                sql += f" JOIN {at[names[place]]} AS {side(place)} ON {step.on}"
            yield sql

    def _first_partners(self, at: Mapping[str, str]) -> Iterator[str]:
        columns, on = ", ".join(quoted(c.name) for c in self.schema), self.steps[0].on
        one, other = side(0), side(1)
        if "new_0" in at and "all_1" in at:
            found = f"{at['new_0']} AS {one} LEFT SEMI JOIN {at['all_1']} AS {other} ON {on}"
            yield f"SELECT {columns} FROM {found}"
        if "old_0" in at and "new_1" in at:
            found = f"{at['old_0']} AS {one} LEFT SEMI JOIN {at['new_1']} AS {other} ON {on}"
            if "old_1" in at:
                found = f"(SELECT * FROM {found}) AS {one}"
                found += f" LEFT ANTI JOIN {at['old_1']} AS {other} ON {on}"
            yield f"SELECT {columns} FROM {found}"

    def _without_partner(self, at: Mapping[str, str], place: int) -> Iterator[str]:
        if f"passed_{place}" not in at:
            return
        found, other = f"{at[f'passed_{place}']} AS {side(place)}", 1 - place
        if f"all_{other}" in at:
            partners = f"{at[f'all_{other}']} AS {side(other)}"
            found += f" LEFT ANTI JOIN {partners} ON {self.steps[0].on}"
        yield f"SELECT {', '.join(alone_sql(self.joined, self.steps, place))} FROM {found}"

    @property
    def _places(self) -> range:
        return range(len(self.joined))
