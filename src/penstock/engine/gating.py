"""Gating: what a gate lets through of some trains, in the driver and without Spark.

Which tuples stay depends on the gate, the train's number and the tuple's place in it alone, so that
a replay drops the same.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from penstock.engine.rows import Rows, empty_table
from penstock.plan.operators import Gate
from penstock.plan.operators.gate import ALL, KEPT
from penstock.qos import gates
from penstock.qos.gates import seed_of
from penstock.qos.quantiles import Values
from penstock.qos.worths import Cut, kept_by

SEED = 0  # gates differ by their places


def gated_by_worth(
    gate: Gate, place: str, cut: Cut, trains: Iterable[tuple[int, pa.Table]], worth: Values
) -> pa.Table:
    """Return the tuples that stay of a run's, the least of them gone first.

    At least what all queries behind the gate allow; each with the share of the run that stayed.
    """
    found = list(trains)
    numbers = [np.full(table.num_rows, number, dtype=np.int64) for number, table in found]
    places = [np.arange(table.num_rows, dtype=np.int64) for _, table in found]
    whole = pa.concat_tables([empty_table(gate.input.schema), *(table for _, table in found)])
    if not whole.num_rows:
        return empty_table(gate.schema)
    seed, least = seed_of(SEED, place), 1 - gate.max_error
    passes = kept_by(cut, seed, least, worth, np.concatenate(numbers), np.concatenate(places))
    left = whole.filter(pa.array(passes))
    share = round(ALL * left.num_rows / whole.num_rows)
    column = pa.array(np.full(left.num_rows, share, dtype=np.int32))
    return left.append_column(empty_table(gate.schema).schema.field(KEPT), column)


def gated(gate: Gate, place: str, keep: float, trains: Iterable[tuple[int, Rows]]) -> pa.Table:
    """Return the tuples that stay, each with how many do; `place` tells gates apart."""
    kept = round(keep * ALL)
    rule = gates.Gate(kept / ALL, seed_of(SEED, place))
    parts = [empty_table(gate.schema)]
    for number, rows in trains:
        table = rows.to_table(gate.input.schema)
        if kept < ALL:
            places = np.arange(table.num_rows, dtype=np.int64)
            table = table.filter(pa.array(rule.passes(np.full_like(places, number), places)))
        column = pa.array(np.full(table.num_rows, kept, dtype=np.int32))
        parts.append(table.append_column(parts[0].schema.field(KEPT), column))
    return pa.concat_tables(parts)
