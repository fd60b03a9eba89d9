"""Distinct: each row of a window once."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.plan.operators.operator import Operator
from penstock.plan.operators.pass_through import PassThrough


@dataclass(frozen=True, slots=True)
class Distinct(PassThrough):
    """Needs trains that hold whole windows, and a column that tells windows apart."""

    input: Operator

    def text(self) -> str:
        """Say so."""
        return "distinct"

    def sql(self, inputs: Sequence[str]) -> str:
        """Keep one of equal rows."""
        return f"SELECT DISTINCT * FROM {inputs[0]}"
