"""Gating: what a gate lets through of some trains, in the driver and without Spark.

Which tuples stay depends on the gate, the train's number and the tuple's place in it alone, so that
a replay drops the same.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.trains.rows import Rows, empty_table
from penstock.plan.operators import Gate
from penstock.plan.operators.gate import ADDED, ALL, KEPT, SHED
from penstock.qos.shedding import gates
from penstock.qos.shedding.gates import seed_of
from penstock.qos.shedding.quantiles import Values
from penstock.qos.shedding.worths import WorthCut, kept_by

SEED = 0  # gates differ by their places


def gated_by_worth(
    gate: Gate, place: str, cut: WorthCut, trains: Iterable[tuple[int, pa.Table]], worth: Values
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
    before = least_kept(whole) if gate.thinned else 1.0
    seed, least = seed_of(SEED, place), min(1.0, (1 - gate.max_error) / before)
    passes = kept_by(cut, seed, least, worth, np.concatenate(numbers), np.concatenate(places))
    left = whole.filter(pa.array(passes))
    return _with_share(gate, left, round(ALL * left.num_rows / whole.num_rows))


def gated(
    gate: Gate, place: str, keeps: Sequence[float], trains: Sequence[tuple[int, Rows]]
) -> pa.Table:
    """Return the tuples that stay, each with how many of its train do; all where none is told.

    `place` tells gates apart.
    """
    seed, parts = seed_of(SEED, place), [empty_table(gate.schema)]
    for (number, rows), keep in zip(trains, keeps or [1.0] * len(trains), strict=True):
        kept = round(keep * ALL)
        rule = gates.DropGate(kept / ALL, seed)
        table = rows.to_table(gate.input.schema)
        if kept < ALL:
            places = np.arange(table.num_rows, dtype=np.int64)
            table = table.filter(pa.array(rule.passes(np.full_like(places, number), places)))
        parts.append(_with_share(gate, table, kept))
    return pa.concat_tables(parts)


def least_kept(table: pa.Table) -> float:
    """Return the least share that the gates of a query have kept of any of its rows."""
    return 1.0 - float(pc.max(table[SHED]).as_py() or 0.0)


def _with_share(gate: Gate, table: pa.Table, kept: int) -> pa.Table:
    """Return tuples with what gates up to this one have kept, one after the other."""
    share = np.full(table.num_rows, kept, dtype=np.int32)
    if gate.thinned:
        before = 1 - table[SHED].to_numpy()
        share = np.rint(kept * before).astype(np.int32)
        table = table.drop_columns(list(ADDED))
    return table.append_column(empty_table(gate.schema).schema.field(KEPT), pa.array(share))
