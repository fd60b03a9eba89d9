"""Take: the first tuples of a stream, then its end (STOP AFTER)."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.plan.operators.operator import Operator
from penstock.plan.operators.pass_through import PassThrough


@dataclass(frozen=True, slots=True)
class Take(PassThrough):
    """`tuples` from the input, or what comes until the query's time is up (None).

    Each query counts for itself, so the query's name makes the node its own.
    """

    input: Operator
    query: str
    tuples: int | None

    def identity(self) -> tuple[object, ...]:
        """Return whose tuples it counts, however its name is written."""
        return (self.input, self.query.lower(), self.tuples)

    def text(self) -> str:
        """Say how many tuples of which input, for which query."""
        query = self.query.lower()
        if self.tuples is None:
            return f"take what comes in until time is up, for {query}"
        return f"take the first {self.tuples:,} tuples that come in, before WHERE, for {query}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Pass on: how many is counted by the runtime, train by train."""
        return f"SELECT * FROM {inputs[0]}"
