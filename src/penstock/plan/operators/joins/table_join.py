"""TableJoin: each tuple with the rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.own_names import LEFT, RIGHT, own
from penstock.model.schema import Schema
from penstock.plan.operators.keeps_times import KeepsTimes, beside
from penstock.plan.operators.operator import Operator

KINDS = ("INNER", "CROSS", "LEFT", "LEFT SEMI", "LEFT ANTI")


def table_view(table: str, incarnation: int) -> str:
    """Return the name under which a unit finds the table's rows."""
    # Spark takes no other letters in a view's name; the incarnation alone tells tables apart.
    safe = "".join(c if c.isascii() and c.isalnum() else "_" for c in table.lower())
    return own(f"table_{safe}_{incarnation}")


@dataclass(frozen=True, slots=True)
class TableJoin(KeepsTimes):
    """`on` speaks of the stream's columns as l.x and of the table's as r.x.

    `taken` are the table's columns that go on, as (column of the table, name in the output);
    `rows` is the SELECT of a table that is written out in the query.
    """

    input: Operator
    table: str
    incarnation: int
    kind: str
    on: str
    taken: tuple[tuple[str, str], ...]
    schema: Schema
    rows: str = ""

    def identity(self) -> tuple[object, ...]:
        """Return the join, however the table's name is written."""
        joined = (self.table.lower(), self.incarnation, self.kind, self.on)
        return (self.input, *joined, self.taken, self.rows)

    def text(self) -> str:
        """Show kind, table and condition."""
        on = f" on {self.on}" if self.on else ""
        table = f"({self.rows})" if self.rows else f"{self.table.lower()}#{self.incarnation}"
        return f"{self.kind.lower()} join {table}{on}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Join, the table sent to every worker: it is the small side."""
        view = f"({self.rows})" if self.rows else table_view(self.table, self.incarnation)
        on = f" ON {self.on}" if self.on else ""
        return (
            f"SELECT /*+ BROADCAST({RIGHT}) */ {beside(self.taken)} "
            f"FROM {inputs[0]} AS {LEFT} {self.kind} JOIN {view} AS {RIGHT}{on}"
        )
