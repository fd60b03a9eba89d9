"""Functions in SQL inside a flow: somebody who knows SQL is given items, and says which came back.

This room has no SQL. The operator holds the SELECT and the columns on both of its sides; whoever
runs the flow puts in who evaluates it. Each item carries its place, so that what a SELECT makes of
it keeps its number, whatever order the answer comes in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.errors import RunError
from penstock.functions.data.items import Items, StreamType, joined
from penstock.functions.data.operator_state import OperatorState
from penstock.functions.operators.guard import Made, guarded
from penstock.functions.operators.operator import InputItems, OperatorStep, Withheld
from penstock.model.own_names import own
from penstock.model.schema import Column, Schema

PLACE = own("place")  # the column that says which item a row was made of

Statement = Callable[[str], str]  # from the name of a relation to the SELECT over it


@dataclass(frozen=True)
class Selecting:
    """A SELECT over each item for itself; `evaluate` answers it over a table of items."""

    name: str
    given: StreamType
    type: StreamType
    statement: Statement = field(compare=False, repr=False)
    evaluate: "Evaluate | None" = field(default=None, compare=False, repr=False)

    @property
    def schema_in(self) -> Schema:
        """Return the columns of the relation that the SELECT reads."""
        return with_place(self.given.schema)

    @property
    def schema_out(self) -> Schema:
        """Return the columns that the SELECT gives."""
        return with_place(self.type.schema)

    def fresh(self) -> OperatorState:
        """Return the state before anything came: none is needed."""
        return OperatorState()

    def step(
        self, state: OperatorState, arrivals: Sequence[InputItems], now: float
    ) -> OperatorStep:
        (arrival,) = arrivals
        items = arrival.items
        made, failing = guarded(lambda a, b: self._made(items.slice(a, b)), len(items), self.name)
        held = tuple(
            Withheld("held", self.name, each.cause, items.slice(each.start, each.stop))
            for each in failing
        )
        out = joined(self.type, [each.items for each in made] or [Items.none(self.type)])
        return OperatorStep(out, arrival.progress, state, held)

    def _made(self, items: Items) -> Made:
        if self.evaluate is None:
            raise RunError(
                f"{self.name} is in SQL, and nobody here evaluates SQL",
                hint="run the flow by a query",
            )
        places = pa.array(np.arange(len(items), dtype=np.int64))
        answer = self.evaluate(self, items.table.append_column(PLACE, places))
        rows = answer[PLACE].to_numpy()
        found = Items.from_table(self.type, answer.drop_columns([PLACE]), items.numbers[rows])
        order = np.argsort(rows, kind="stable")
        return Made(found.take(order), rows[order])


Evaluate = Callable[[Selecting, pa.Table], pa.Table]


def with_place(schema: Schema) -> Schema:
    """Return columns with the place of the item that a row was made of."""
    return Schema((*schema.columns, Column(PLACE, "bigint")))
