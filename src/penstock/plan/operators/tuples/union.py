"""Union: the tuples of several inputs, columns matched by position."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.schema import Schema
from penstock.plan.operators.operator import EventTime, Operator


@dataclass(frozen=True, slots=True)
class Union:
    """UNION ALL; the names are the first input's."""

    inputs: tuple[Operator, ...]
    schema: Schema
    times: tuple[EventTime, ...] = ()

    def text(self) -> str:
        """Say how many are joined."""
        return f"union of {len(self.inputs)}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Put one after the other."""
        return " UNION ALL ".join(f"SELECT * FROM {each}" for each in inputs)
