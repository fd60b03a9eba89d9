"""Filter: keeps the tuples for which every condition holds."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.own_names import INPUT
from penstock.plan.operators.operator import Operator
from penstock.plan.operators.pass_through import PassThrough


@dataclass(frozen=True, slots=True)
class Filter(PassThrough):
    """A conjunction; conditions that cannot fail stand first and sorted (`clauses.in_order`)."""

    input: Operator
    conditions: tuple[str, ...]

    def text(self) -> str:
        """Show the conditions."""
        return "filter " + self._held()

    def sql(self, inputs: Sequence[str]) -> str:
        """Keep what satisfies them all."""
        # The alias is needed: Spark would take WHERE (`x`) for an alias with a column list.
        return f"SELECT * FROM {inputs[0]} AS {INPUT} WHERE {self._held()}"

    def _held(self) -> str:
        return " AND ".join(f"({each})" for each in self.conditions)
