"""What joins of several inputs in one operator share: their inputs, columns and steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.model.own_names import side
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.operators.joins.window_join import PRESERVED
from penstock.plan.operators.operator import EventTime, Operator


@dataclass(frozen=True, slots=True)
class JoinInput:
    """One input: its event time, and its columns as (column of the input, name in the output)."""

    operator: Operator
    time: EventTime
    columns: tuple[tuple[str, str], ...]

    def schema(self) -> Schema:
        """Return the columns that go on, under their names in the output."""
        return Schema(tuple(self._columns()))

    def select_sql(self, relation: str, *others: str) -> str:
        """Return the SELECT from the input's rows to these columns and others."""
        columns = [f"{quoted(name)} AS {quoted(out)}" for name, out in self.columns]
        return f"SELECT {', '.join((*columns, *others))} FROM {relation}"

    def micros_sql(self) -> str:
        """Return the time of an input row."""
        return f"unix_micros({quoted(self.time.column)})"

    def _columns(self) -> Iterator[Column]:
        known = {column.name: column for column in self.operator.schema}
        return (Column(out, known[name].type) for name, out in self.columns)


@dataclass(frozen=True, slots=True)
class JoinStep:
    """How the next input is joined; `on` speaks of the inputs' columns by `side`."""

    kind: str
    on: str

    @property
    def preserved(self) -> tuple[int, ...]:
        """Return the sides whose tuples come, or are decided upon, without a partner."""
        return PRESERVED.get(self.kind, ())

    @property
    def is_lone(self) -> bool:
        """Say whether it gives tuples of the left alone."""
        return self.kind in ("LEFT SEMI", "LEFT ANTI")

    def text(self) -> str:
        """Show kind and condition."""
        return f"{self.kind.lower()} join{f' on {self.on}' if self.on else ''}"


def columns_text(inputs: Sequence[JoinInput]) -> str:
    """Show which columns of which input go on under which names."""
    return ", ".join(
        f"{side(place)}.{name}" + (f" as {out}" if out != name else "")
        for place, each in enumerate(inputs)
        for name, out in each.columns
    )


def columns_of(inputs: Sequence[JoinInput], steps: Sequence[JoinStep]) -> list[tuple[int, Column]]:
    """Return the columns of what the steps give, each with the number of its input."""
    shown = [0, *(place for place, step in enumerate(steps, 1) if not step.is_lone)]
    return [(place, column) for place in shown for column in inputs[place].schema()]


def alone_sql(inputs: Sequence[JoinInput], steps: Sequence[JoinStep], place: int) -> list[str]:
    """Return the columns of a tuple of one input without a partner."""
    return [
        quoted(column.name)
        if each == place
        else f"CAST(NULL AS {column.type}) AS {quoted(column.name)}"
        for each, column in columns_of(inputs, steps)
    ]
