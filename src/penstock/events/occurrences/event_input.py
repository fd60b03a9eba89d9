"""Where the occurrences of one primitive event come in and wait for the watermark."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.events.occurrences.batch import Batch, Ints, in_order, joined, nothing, occurrences
from penstock.events.occurrences.keys import NO_KEY, KeySpace
from penstock.events.occurrences.parameters import Parameters, no_parameters
from penstock.model.own_names import own

START = "_start"
END = "_end"
ORDER = own("seq")
OWN = (START, END, ORDER)  # columns of an occurrence itself; all others are parameters


@dataclass(frozen=True, slots=True)
class Inlet:
    """A primitive event and the sets of key columns that others ask of it, each with its space."""

    name: str
    schema: pa.Schema
    keyings: tuple[tuple[str, ...], ...]
    spaces: tuple[KeySpace | None, ...]

    @property
    def parameters(self) -> pa.Schema:
        """Return the columns of the parameters."""
        return pa.schema([each for each in self.schema if each.name not in OWN])

    def empty(self) -> "WaitingOccurrences":
        """Return that nothing waits."""
        return WaitingOccurrences(nothing(1 + len(self.keyings)), no_parameters(self.parameters))

    def arrived(
        self, waiting: "WaitingOccurrences", table: pa.Table, next_id: int
    ) -> "WaitingOccurrences":
        """Return what waits when these rows have come."""
        ids = np.arange(table.num_rows) + next_id
        end = _numbers(table, END)
        start = _numbers(table, START) if START in table.column_names else end
        refs = np.stack([ids, *self.keys(table)], axis=1)
        fresh = occurrences(_no_keys(table), start, end, _numbers(table, ORDER), refs)
        rows = waiting.rows.with_rows(ids, table.select(self.parameters.names))
        return WaitingOccurrences(joined([waiting.batch, fresh]), rows)

    def keys(self, table: pa.Table) -> list[Ints]:
        """Return the rows' keys under each set of key columns."""
        return [
            _no_keys(table) if space is None else space.numbers([table[name] for name in names])
            for names, space in zip(self.keyings, self.spaces, strict=True)
        ]

    def keyed(self, ready: Batch, keying: tuple[str, ...]) -> Batch:
        """Return occurrences under one set of key columns; those with NULL in it are gone."""
        key = ready.refs[:, 1 + self.keyings.index(keying)]
        batch = occurrences(key, ready.start, ready.end, ready.seq, ready.refs[:, :1])
        return batch if (key != NO_KEY).all() else batch.take(key != NO_KEY)


@dataclass(frozen=True, slots=True)
class WaitingOccurrences:
    """Occurrences that are not released yet, and the rows behind these and all that are held."""

    batch: Batch
    rows: Parameters

    def released(self, watermark: int) -> tuple[Batch, "WaitingOccurrences"]:
        """Return what is before the watermark, in order, and what waits on."""
        if not len(self.batch):
            return self.batch, self
        ready = self.batch.end < watermark
        left = nothing(self.batch.refs.shape[1]) if ready.all() else self.batch.take(~ready)
        out = self.batch if ready.all() else self.batch.take(ready)
        return in_order(out), WaitingOccurrences(left, self.rows)


def _numbers(table: pa.Table, column: str) -> Ints:
    found: Ints = table[column].to_numpy()
    return found.astype(np.int64, copy=False)


def _no_keys(table: pa.Table) -> Ints:
    return np.zeros(table.num_rows, np.int64)
