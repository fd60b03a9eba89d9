"""How a train's rows are held: Arrow in the driver, or Parquet files that one scan reads.

Measured (docs/decisions/0002): up to some ten thousand rows Arrow goes into a Spark job
cheapest as a local relation; above that a Parquet file that the driver writes in milliseconds
is read as fast as a cached frame, needs no executor's memory, drags no lineage along, and many
of them are still one leaf of a plan.
"""

import functools
import os
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.engine.trains.types import arrow_schema
from penstock.errors import DiskFullError
from penstock.model.schema import Schema

SMALL_ROWS = 10_000  # above it a local relation costs more than writing and scanning a file
SMALL_BYTES = 4 << 20
COMPACT_PARTS = 16  # a scan of sixteen files costs twice a scan of one (docs/decisions/0002)
ENOSPC = 28


@dataclass(slots=True, weakref_slot=True)
class Rows:
    """Rows of one schema, in memory, in files, or both (the same rows twice).

    Where they are `in_order`, that of the files is theirs, and a scan has to keep it.
    """

    count: int
    table: pa.Table | None
    paths: tuple[Path, ...] = ()
    owned: bool = True
    in_order: bool = False

    @property
    def memory_bytes(self) -> int:
        """Return what the rows take in the driver."""
        return self.table.nbytes if self.table is not None else 0

    @property
    def disk_bytes(self) -> int:
        """Return what the rows take on our disk; a source's own files are not ours."""
        return self._file_bytes if self.owned else 0

    @property
    def size(self) -> int:
        """Return what the rows take where they are: in memory, or else in whoever's files."""
        return self.memory_bytes if self.table is not None else self._file_bytes

    @property
    def _file_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.paths)

    @property
    def is_small(self) -> bool:
        """Say whether the rows go into a job as a local relation."""
        return self.table is not None and is_small(self.table)

    def to_table(self, schema: Schema) -> pa.Table:
        """Return the rows as Arrow, read back from disk where they are only there."""
        if self.table is not None:
            return self.table
        return read_parquet(self.paths, schema)

    def to_disk(self, directory: Path) -> None:
        """Write the rows to a file, unless they are on disk already."""
        if not self.paths and self.table is not None:
            self.paths = (write_parquet(self.table, directory),)

    def leave_memory(self, directory: Path) -> None:
        """Keep the rows on disk only."""
        self.to_disk(directory)
        self.table = None

    def delete(self) -> None:
        """Remove our files; a source's own stay."""
        if self.owned:
            for path in self.paths:
                path.unlink(missing_ok=True)
        self.table, self.paths = None, ()


def in_memory(table: pa.Table) -> Rows:
    """Hold a table in the driver."""
    return Rows(table.num_rows, table)


def in_files(paths: Sequence[Path], *, owned: bool) -> Rows:
    """Hold Parquet files where they are."""
    count = sum(pq.read_metadata(path).num_rows for path in paths)
    return Rows(count, None, tuple(paths), owned)


def is_small(table: pa.Table) -> bool:
    """Say whether a table is small enough for a local relation.

    What a table takes with all that Arrow adds is never less than its values, and quickly known.
    """
    if table.num_rows > SMALL_ROWS:
        return False
    return bool(table.nbytes <= SMALL_BYTES) or value_bytes(table) <= SMALL_BYTES


def value_bytes(table: pa.Table) -> int:
    """Return what the values take, however they are held: a replay must find the same."""
    return sum(map(_column_bytes, table.columns))


def _column_bytes(column: pa.ChunkedArray) -> int:
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        total: int | None = pc.sum(pc.binary_length(column)).as_py()
        return total or 0
    try:
        return len(column) * int(column.type.bit_width) // 8
    except ValueError:  # lists have no width
        return int(column.nbytes)


def laid_together(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of tables of one schema; where one has no nulls by its type, others may.

    Partials that were combined are nullable to Spark, and those that were just made are not.
    """
    return pa.concat_tables(tables, promote_options="default")


@functools.lru_cache(maxsize=4096)
def empty_table(schema: Schema) -> pa.Table:
    """Return a table of no rows."""
    return arrow_schema(schema).empty_table()


def write_parquet(table: pa.Table, directory: Path) -> Path:
    """Write one file under a new name, whole or not at all."""
    path = directory / f"{uuid.uuid4().hex}.parquet"
    return write_parquet_at(table, path)


def write_parquet_at(table: pa.Table, path: Path) -> Path:
    """Write the file at `path`, whole or not at all."""
    draft = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not LZ4: Spark cannot read some dictionaries of numbers that Arrow has packed so.
        words = [each.name for each in table.schema if pa.types.is_string(each.type)]
        pq.write_table(
            table,
            draft,
            compression="snappy",
            use_dictionary=words or False,
            write_page_checksum=True,
        )
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        if error.errno == ENOSPC:
            raise DiskFullError(
                f"no room left on the disk of {path.parent}", hint="free some, then RESUME"
            ) from error
        raise
    return path


def link_or_copy(source: Path, target: Path) -> Path:
    """Give a file one more name; where the file system cannot, copy it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target


def read_parquet(paths: Sequence[Path], schema: Schema) -> pa.Table:
    """Read files as one table of the schema's types, in the order of the paths."""
    wanted = arrow_schema(schema)
    tables = [
        pq.ParquetFile(
            path, coerce_int96_timestamp_unit="us", page_checksum_verification=True
        ).read(columns=list(wanted.names))
        for path in paths
    ]
    return pa.concat_tables([fit(table, wanted) for table in tables] or [wanted.empty_table()])


def fit(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Return the table with exactly the wanted columns and types."""
    if table.schema.equals(wanted):
        told = any(field.metadata for field in wanted)
        return pa.table(table.columns, schema=wanted) if told else table
    return table.select(wanted.names).cast(wanted)
