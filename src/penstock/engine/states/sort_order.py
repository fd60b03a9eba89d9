"""An order for rows that come out of a hash table: a replay must not differ."""

from collections.abc import Sequence

import pyarrow as pa


def sorted_rows(table: pa.Table, first: Sequence[str]) -> pa.Table:
    """Return the rows by the columns named first, then by everything else that has an order."""
    plain = [f.name for f in table.schema if not pa.types.is_nested(f.type)]
    names = [*first, *(name for name in plain if name not in first)]
    if table.num_rows <= 1 or not names:
        return table
    return table.sort_by([(name, "ascending") for name in names])
