"""Step: an operator that is nothing but a name; what it costs is declared beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.schema import Schema
from penstock.plan.operators import EventTime, Operator, Scan

NO_COLUMNS = Schema()


@dataclass(frozen=True, slots=True)
class SimulatedOperator:
    """One operator of a simulated query; with several inputs it is a join or a union."""

    name: str
    inputs: tuple[Operator, ...]
    schema: Schema = NO_COLUMNS
    times: tuple[EventTime, ...] = ()

    def text(self) -> str:
        """Show the name: two steps of one name over the same inputs are one node."""
        return f"step {self.name}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Pass tuples on, in case that anybody runs it."""
        return " UNION ALL ".join(f"SELECT * FROM {each}" for each in inputs)


def stream(name: str) -> Scan:
    """Return a simulated stream."""
    return Scan(name, 1, NO_COLUMNS)
