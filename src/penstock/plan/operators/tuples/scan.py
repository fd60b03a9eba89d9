"""Scan: reads the trains of a stream."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.key_order import KeyOrder
from penstock.model.schema import Schema
from penstock.plan.operators.operator import EventTime, Operator


@dataclass(frozen=True, slots=True)
class Scan:
    """All columns of a stream; `incarnation` tells a dropped stream from its successor."""

    stream: str
    incarnation: int
    schema: Schema
    times: tuple[EventTime, ...] = ()
    ordered_by: tuple[KeyOrder, ...] = ()

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return none: a scan reads a buffer."""
        return ()

    def identity(self) -> tuple[object, ...]:
        """Return the stream: its columns do not change while it is the same one."""
        return (self.stream.lower(), self.incarnation)

    def text(self) -> str:
        """Name the stream."""
        return f"scan {self.stream.lower()}#{self.incarnation}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Read the buffer's trains as they are."""
        return f"SELECT * FROM {inputs[0]}"
