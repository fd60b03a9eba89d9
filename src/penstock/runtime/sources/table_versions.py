"""Tables and their versions: read anew when their sources change, swapped in while quiesced.

The version in force is a Parquet file of the home, named in the checkpoint: a restart begins with
it, so that recorded runs are done again over the rows that they had, and then looks at the files.

    sources change --look--> read by a worker --swap, while quiesced--> in force, with a checkpoint

Rows that are what they were make no new version. What cannot be read leaves the old rows in force,
and SHOW TABLES says why.
"""

import hashlib
import io
import shutil
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.clock import Clock
from penstock.engine.sinks.whole_file import sync_directory, sync_file
from penstock.engine.table_sources.table_source import Seen
from penstock.engine.trains.rows import fit, write_parquet_at
from penstock.engine.trains.types import arrow_schema
from penstock.errors import PenstockError, SourceError, describe
from penstock.model.definitions import TableDefinition
from penstock.model.schema import Schema
from penstock.runtime.durable.home import file_name
from penstock.runtime.work.worker_pool import Workers

LOOK_SECONDS = 1.0
OLD_VERSIONS = 1  # a SELECT that began before a swap may still read the file


class TableReader(Protocol):
    """Reads tables and holds them as views; the engine does."""

    def seen(self, definition: TableDefinition) -> Seen:
        """Return what would be different if the rows had changed, without reading them."""
        ...

    def read(self, definition: TableDefinition) -> pa.Table:
        """Return the table's rows, or raise what is wrong with it."""
        ...

    def hold(
        self, definition: TableDefinition, incarnation: int, rows: pa.Table, file: Path | None
    ) -> Schema:
        """Put the rows, which are also in the file, under the table's views."""
        ...

    def drop(self, name: str, incarnation: int) -> None:
        """Remove the table's views."""
        ...

    def release(self, definition: TableDefinition) -> None:
        """Let go of what is held of a table's source."""
        ...

    def close(self) -> None:
        """Let go of what is held of all sources."""
        ...


@dataclass(frozen=True, slots=True)
class TableReading:
    """Rows that were read, and what their source looked like before."""

    rows: pa.Table
    seen: Seen


@dataclass(slots=True)
class LiveTable:
    """A table as it stands; `candidate` is a change that has to last until the next look."""

    definition: TableDefinition
    incarnation: int
    schema: Schema
    version: int
    rows: int
    read_at: float
    seen: Seen
    digest: bytes
    cause: str = ""
    candidate: Seen | None = None
    waiting: pa.Table | None = None

    def kept(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"version": self.version, "read_at": self.read_at, "seen": self.seen}


class TableVersions:
    """All tables; `look` and `swap` belong to the supervisor's thread, or to one while quiesced."""

    def __init__(self, tables: TableReader, directory: Path, clock: Clock) -> None:
        """Keep the versions below the directory."""
        self.live: dict[str, LiveTable] = {}
        self._tables, self._directory, self._clock = tables, directory, clock
        self._next_look = 0.0

    def read(self, definition: TableDefinition) -> TableReading:
        """Return the table's rows, or raise what is wrong with it."""
        seen = self._tables.seen(definition)
        return TableReading(self._tables.read(definition), seen)

    def create(
        self, definition: TableDefinition, incarnation: int, reading: TableReading
    ) -> Schema:
        """Put the first version in force."""
        file = self._write(definition, incarnation, 1, reading.rows)
        schema = self._tables.hold(definition, incarnation, reading.rows, file)
        now = self._clock.now()
        self.live[_key(definition.name, incarnation)] = LiveTable(
            definition,
            incarnation,
            schema,
            1,
            reading.rows.num_rows,
            now,
            reading.seen,
            _digest(reading.rows, schema),
        )
        return schema

    def bring_back(
        self, definition: TableDefinition, incarnation: int, manifest: Mapping[str, Any]
    ) -> Schema:
        """Put the version in force that the checkpoint knows, or read the table."""
        kept = manifest.get(_key(definition.name, incarnation))
        file = self._file(definition.name, incarnation, kept["version"]) if kept else None
        if kept is None or file is None or not file.exists():
            return self.create(definition, incarnation, self.read(definition))
        try:
            rows = pq.ParquetFile(file, page_checksum_verification=True).read()
        except (OSError, pa.ArrowException):
            schema = self.create(definition, incarnation, self.read(definition))
            self.live[_key(definition.name, incarnation)].cause = f"{file} is damaged: read anew"
            return schema
        schema = self._tables.hold(definition, incarnation, rows, file)
        seen = tuple((name, size, changed) for name, size, changed in kept["seen"])
        self.live[_key(definition.name, incarnation)] = LiveTable(
            definition,
            incarnation,
            schema,
            kept["version"],
            rows.num_rows,
            kept["read_at"],
            seen,
            _digest(rows, schema),
        )
        return schema

    def of(self, name: str, incarnation: int) -> LiveTable:
        """Return a table as it stands."""
        return self.live[_key(name, incarnation)]

    def drop(self, name: str, incarnation: int) -> None:
        """Remove a table with its versions."""
        live = self.live.pop(_key(name, incarnation), None)
        if live is not None:
            self._tables.release(live.definition)
        self._tables.drop(name, incarnation)
        shutil.rmtree(self._directory / _key(name, incarnation), ignore_errors=True)

    def kept(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {name: live.kept() for name, live in self.live.items()}

    def look(self, pool: Workers, now: float) -> None:
        """Have workers read tables whose files have changed and are stable again."""
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        for name, live in self.live.items():
            if live.waiting is None and not pool.is_busy(f"source:table:{name}"):
                self._look_at(live, name, pool)

    @property
    def has_news(self) -> bool:
        """Say whether rows wait to be swapped in."""
        return any(live.waiting is not None for live in self.live.values())

    def swap(self) -> None:
        """Put the rows in force that wait; while quiesced, and a checkpoint must follow."""
        for live in self.live.values():
            if live.waiting is not None:
                self._swap(live, live.waiting)
                live.waiting = None

    def close(self) -> None:
        """Let go of what is held of the tables' sources."""
        self._tables.close()

    def tidy(self) -> None:
        """Remove versions that no checkpoint names any more."""
        for name, live in self.live.items():
            for file in (self._directory / name).glob("version-*.parquet"):
                if int(file.stem.removeprefix("version-")) < live.version - OLD_VERSIONS:
                    file.unlink(missing_ok=True)

    def _look_at(self, live: LiveTable, name: str, pool: Workers) -> None:
        seen = self._tables.seen(live.definition)
        if seen == live.seen:
            live.candidate = None
        elif seen != live.candidate:
            live.candidate = seen  # somebody may still be writing
        else:
            pool.submit(
                f"source:table:{name}",
                lambda: self._changed_rows(live),
                lambda future: self._took(live, seen, future),
            )

    def _changed_rows(self, live: LiveTable) -> pa.Table | None:
        """Read a table, and return its rows where they are not what they were; in a worker."""
        rows = self._tables.read(live.definition)
        try:
            rows = fit(rows, arrow_schema(live.schema))
        except (KeyError, pa.ArrowException):
            raise _other_columns(live) from None
        return None if digest_of(rows) == live.digest else rows

    def _took(self, live: LiveTable, seen: Seen, future: Future[object]) -> None:
        live.candidate = None
        error = future.exception()
        if error is None and self._tables.seen(live.definition) != seen:
            return  # changed while it was read: the next look sees it
        live.seen = seen
        if isinstance(error, Exception):  # whatever it is, the old rows do
            live.cause = describe(error)
            return
        rows = future.result()
        live.cause = ""
        assert rows is None or isinstance(rows, pa.Table)  # noqa: S101  (what the reading gives)
        live.waiting = rows

    def _swap(self, live: LiveTable, rows: pa.Table) -> None:
        definition, incarnation, version = live.definition, live.incarnation, live.version + 1
        try:
            file = self._write(definition, incarnation, version, rows)
            self._tables.hold(definition, incarnation, rows, file)
        except (PenstockError, OSError) as error:
            live.cause = describe(error)
            return
        live.version, live.rows, live.cause = version, rows.num_rows, ""
        live.digest = digest_of(rows)
        live.read_at = self._clock.now()

    def _write(
        self, definition: TableDefinition, incarnation: int, version: int, rows: pa.Table
    ) -> Path | None:
        file = self._file(definition.name, incarnation, version)
        with suppress(pa.ArrowNotImplementedError):  # a type that Parquet has not: read it anew
            write_parquet_at(rows, file)
            sync_file(file)  # before a checkpoint names it
            sync_directory(file.parent)
            return file
        file.with_name(f".{file.name}.tmp").unlink(missing_ok=True)
        return None

    def _file(self, name: str, incarnation: int, version: int) -> Path:
        return self._directory / _key(name, incarnation) / f"version-{version:010d}.parquet"


def _digest(rows: pa.Table, schema: Schema) -> bytes:
    """Return the digest of rows as the next reading will bring them."""
    try:
        return digest_of(fit(rows, arrow_schema(schema)))
    except (KeyError, pa.ArrowException):
        return b""  # the next reading will say so


def digest_of(rows: pa.Table) -> bytes:
    """Return what is the same for the same rows in the same order, however they were cut."""
    digest = hashlib.blake2b(digest_size=16)
    whole = rows.combine_chunks()
    with pa.ipc.new_stream(pa.PythonFile(_Hashing(digest), mode="w"), whole.schema) as stream:
        stream.write_table(whole)
    return digest.digest()


class _Hashing(io.RawIOBase):
    """A file that is not kept."""

    def __init__(self, digest: "hashlib.blake2b") -> None:
        self._digest = digest

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return len(memoryview(data).cast("B"))


def _key(name: str, incarnation: int) -> str:
    return f"{file_name(name.lower())}.{incarnation}"


def _other_columns(live: LiveTable) -> SourceError:
    names = ", ".join(f"{column.name} {column.type}" for column in live.schema)
    return SourceError(
        f"table {live.definition.name}: its rows have other columns than {names}",
        hint="CREATE OR REPLACE TABLE takes the new ones",
    )
