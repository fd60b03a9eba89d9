"""Rows of a state as Arrow, in whatever schema they were written."""

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.trains.rows import Rows


def table_of(rows: Rows) -> pa.Table:
    """Return the rows, read back from disk where they are only there."""
    if rows.table is not None:
        return rows.table
    return pa.concat_tables([pq.ParquetFile(path).read() for path in rows.paths])
