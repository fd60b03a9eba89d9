"""From a stateful operator's rows to the rows of its unit's root."""

import pyarrow as pa

from penstock.engine.states.state import Run
from penstock.engine.trains.rows import empty_table, fit, in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.plan.operators import key


def root_rows(run: Run, table: pa.Table) -> pa.Table:
    """Return what the operators above the stateful one make of its rows."""
    root, stateful = run.unit.root, run.unit.stateful
    assert stateful is not None  # noqa: S101  (it is a state that asks)
    if not table.num_rows:
        return empty_table(root.schema)
    if key(root) == key(stateful):
        return fit(table, arrow_schema(root.schema))
    view = run.view("result")
    leaves = {view: ([in_memory(table)], stateful.schema)}
    return run.select(run.unit.above_sql(view), leaves, root.schema, single=False)
