"""The rows behind the occurrences of one primitive event, by number."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.events.occurrences.batch import NONE, Ints

CHUNKS = 16  # a table in more pieces than this is slow to take from


@dataclass(frozen=True, slots=True)
class Parameters:
    """Rows with rising numbers."""

    ids: Ints
    rows: pa.Table

    def with_rows(self, ids: Ints, rows: pa.Table) -> "Parameters":
        """Return these rows and some with higher numbers."""
        if not len(ids):
            return self
        every = pa.concat_tables([self.rows, rows])
        if every.num_columns and every.column(0).num_chunks > CHUNKS:
            every = every.combine_chunks()
        return Parameters(np.concatenate([self.ids, ids]), every)

    def only(self, ids: Ints) -> "Parameters":
        """Return just the rows of these numbers."""
        kept = np.unique(ids[ids != NONE])
        return Parameters(kept, self.rows.take(pa.array(np.searchsorted(self.ids, kept))))

    def take(self, ids: Ints) -> pa.Table:
        """Return the rows of these numbers, with NULLs where there is none."""
        at = np.searchsorted(self.ids, ids)
        return self.rows.take(pa.array(at, mask=ids == NONE))


def no_parameters(schema: pa.Schema) -> Parameters:
    """Return no rows."""
    return Parameters(np.empty(0, np.int64), schema.empty_table())
