"""Worth: what tuples are worth to those who SHED BY something, in their order."""

import numpy as np
import pyarrow as pa

from penstock.engine.spark.jobs.processor import Leaf, Processor
from penstock.engine.trains.rows import SMALL_ROWS, in_memory
from penstock.model.own_names import own
from penstock.plan.operators import Gate, key
from penstock.plan.select.punctuation import plain_column
from penstock.qos.shedding.quantiles import Values

VIEW = own("worth")


def is_plain(gate: Gate) -> bool:
    """Say whether a column is what tuples are worth: then no Spark is needed."""
    return plain_column(gate.worth, gate.input.schema) is not None


def worth_of(gate: Gate, table: pa.Table, processor: Processor) -> Values:
    """Return what each tuple is worth, NaN for NULL.

    Other expressions are Spark's to evaluate, over as many tuples at once as keep their order.
    """
    if (name := plain_column(gate.worth, gate.input.schema)) is not None:
        return _numbers(table[name])
    view = f"{VIEW}_{key(gate)}"
    sql = f"SELECT CAST({gate.worth} AS DOUBLE) AS worth FROM {view}"
    found = [np.empty(0)]
    for start in range(0, table.num_rows, SMALL_ROWS):
        part = in_memory(table.slice(start, SMALL_ROWS))
        leaves: dict[str, Leaf] = {view: ([part], gate.input.schema)}
        found.append(_numbers(processor.select(leaves, sql, None, single=False)["worth"]))
    return np.concatenate(found)


def _numbers(column: pa.ChunkedArray) -> Values:
    found: Values = column.cast(pa.float64()).to_numpy()
    return found
