"""Top: the rows of each window in an order, all or the first of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.own_names import own
from penstock.model.schema import quoted
from penstock.plan.operators.operator import Operator
from penstock.plan.operators.pass_through import PassThrough

RANK = own("rank")


@dataclass(frozen=True, slots=True)
class Top(PassThrough):
    """Needs trains that hold whole windows; `by` is the column that tells windows apart.

    `order` is SQL; rows that it leaves equal are ordered by everything else, so that a replay
    gives the same.
    """

    input: Operator
    by: str
    order: tuple[str, ...]
    limit: int | None = None
    offset: int = 0

    def text(self) -> str:
        """Show order and bounds."""
        many = "all" if self.limit is None else str(self.limit)
        skipped = f" after {self.offset}" if self.offset else ""
        return f"top {many}{skipped} of each {self.by} by {', '.join(self.order)}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Number the rows of each window, and keep those that are asked for."""
        columns = [quoted(name) for name in self.schema.names]
        plain = [
            quoted(column.name)
            for column in self.schema
            if not column.type.startswith(("map", "variant", "struct", "array"))
        ]
        order = ", ".join([*self.order, *plain])
        rank = f"row_number() OVER (PARTITION BY {quoted(self.by)} ORDER BY {order}) AS {RANK}"
        last = "" if self.limit is None else f" AND {RANK} <= {self.offset + self.limit}"
        return (
            f"SELECT {', '.join(columns)} FROM (SELECT *, {rank} FROM {inputs[0]}) "
            f"WHERE {RANK} > {self.offset}{last} ORDER BY {quoted(self.by)}, {RANK}"
        )
