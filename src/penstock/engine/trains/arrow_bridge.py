"""The short way from a small result to Arrow.

`DataFrame.toArrow` opens a socket and runs a job even where the optimizer has already computed
the rows (a filter or projection of a local relation). Asking the executed plan for its rows and
letting Spark's own converter write them spares both: 15 ms instead of 40 for a tiny train
(docs/decisions/0002). These are Spark's internals: where one is missing, `toArrow` serves.

An answer of Py4J longer than 8 kB (6 kB before base64) leaves the JVM in several writes, of which
the last waits 40 ms for a delayed acknowledgement; a few rows are therefore fetched in pieces
below that.
"""

from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

MAX_BATCH_ROWS = 20_000
MAX_BATCH_BYTES = 64 << 20
FEW_ROWS = 2_000
PIECE_BYTES = 5_000
COMPUTED = ("LocalTableScan", "Scan OneRowRelation")  # rows that the optimizer has, or one

_modules: dict[int, tuple[Any, Any]] = {}


def collect(frame: DataFrame) -> pa.Table:
    """Return the rows of a frame.

    It is planned first, by this thread: `toArrow` leaves that to a thread of Java's which tells
    nobody that it died, such as for want of memory, and would be waited for in vain. What reads no
    file and no train is done by this thread as a whole.
    """
    jdf = getattr(frame, "_jdf", None)
    if jdf is None:
        return frame.toArrow()
    leaves = jdf.queryExecution().executedPlan().collectLeaves()
    alone = leaves.size() == 1 and leaves.head().nodeName() in COMPUTED
    return collect_small(frame) if alone else frame.toArrow()


def collect_small(frame: DataFrame, batch_rows: int = MAX_BATCH_ROWS) -> pa.Table:
    """Return the rows of a frame whose result fits the driver easily."""
    jvm = frame.sparkSession._jvm
    jdf = getattr(frame, "_jdf", None)
    if jvm is None or jdf is None:
        return frame.toArrow()
    plan = jdf.queryExecution().executedPlan()
    rows = plan.executeCollect()
    try:
        converters, predef = _converters(jvm)
        batches = converters.toBatchWithSchemaIterator(
            predef.genericWrapArray(rows).iterator(),
            plan.schema(),
            batch_rows,
            PIECE_BYTES if len(rows) <= FEW_ROWS else MAX_BATCH_BYTES,
            "UTC",
            True,
            False,
        )
        tables = []
        while batches.hasNext():
            tables.append(pa.ipc.open_stream(batches.next()).read_all())
    except Py4JJavaError:  # the rows are too large: they would be for the other way, too
        raise
    except (Py4JError, AttributeError, TypeError):
        return frame.toArrow()
    if not tables:
        return to_arrow_schema(frame.schema, timezone="UTC").empty_table()
    return pa.concat_tables(tables)


def _converters(jvm: Any) -> tuple[Any, Any]:
    """Return Spark's Arrow writer and Scala's Predef; looking a name up asks the JVM per dot."""
    if id(jvm) not in _modules:
        package = jvm.org.apache.spark.sql.execution.arrow
        converters = getattr(getattr(package, "ArrowConverters$"), "MODULE$")
        _modules[id(jvm)] = (converters, getattr(getattr(jvm.scala, "Predef$"), "MODULE$"))
    return _modules[id(jvm)]
