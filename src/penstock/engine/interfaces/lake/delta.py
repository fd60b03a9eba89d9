"""`delta`: the rows of a table of Delta Lake as it is, then those that each version adds.

A boundary is `{version, first, last}`: files of a version by their places in it; with `whole`, of
the table as it was then. Files of a table never change, so a boundary gives the same rows for as
long as nobody removes them (VACUUM).
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.interfaces.durable import make_home, read_json, write_json
from penstock.engine.interfaces.formats.casts import cast, widens
from penstock.engine.interfaces.interface import Boundary, Ingest, Offer, Surroundings
from penstock.engine.interfaces.lake.delta_log import (
    AddedFile,
    added_files,
    has_version,
    latest_version,
)
from penstock.engine.interfaces.rejects import event_time
from penstock.engine.options import Declared, flag, local_path, read_options, whole
from penstock.engine.trains.types import arrow_schema
from penstock.errors import BadOptionError, SourceError
from penstock.model.definitions import StreamDefinition
from penstock.model.functions.vectors import VECTORS

OPTIONS = {
    "path": Declared(local_path, required=True, about="the table's directory"),
    "after_version": Declared(
        whole(at_least=0), about="only what later versions add; all rows if left out"
    ),
    "bounded": Declared(flag, default=False, about="take the table as it is, then end"),
    "ignore_removals": Declared(flag, default=False, about="go on where rows are taken away"),
    "files_per_train": Declared(whole(), default=16, about="most files in a train"),
}


class Delta:
    """One stream of versions."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        options = options_of(definition)
        self._stream, self._around = definition, around
        self._path: Path = options["path"].absolute()
        self._after: int | None = options["after_version"]
        self._bounded: bool = options["bounded"]
        self._ignore: bool = options["ignore_removals"]
        self._most: int = options["files_per_train"]
        self._begin = 0  # the version that comes whole, or after which it begins
        self._version, self._place, self._is_whole = 0, 0, False
        self._held: tuple[int, bool, list[AddedFile]] | None = None
        self._is_open = False

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        options_of(definition)

    @property
    def bounded(self) -> bool:
        return self._bounded

    @property
    def ended(self) -> bool:
        return self._is_open and self._bounded and not self._is_whole

    def open(self, after: Boundary | None) -> None:
        make_home(self._around.home)
        self._around.allowed().require_readable(str(self._path))
        kept = self._around.home / "begin.json"
        begin = read_json(kept)
        if begin is None:
            begin = self._after if self._after is not None else latest_version(self._path)
            write_json(kept, begin)
        self._begin = int(begin)
        self._is_whole = self._after is None
        self._version, self._place = self._begin + (not self._is_whole), 0
        if after is not None:
            self._is_whole = bool(after.get("whole"))
            self._version, self._place = int(after["version"]), int(after["last"])
        self._is_open = True
        self._step()

    def next(self) -> Offer | None:
        self._step()
        if self.ended or not (self._is_whole or has_version(self._path, self._version)):
            return None
        last = min(len(self._files(self._version, self._is_whole)), self._place + self._most)
        if last == self._place:
            return None
        where = {"version": self._version, "first": self._place, "last": last}
        boundary = where | ({"whole": True} if self._is_whole else {})
        self._place = last
        self._step()
        return Offer(boundary, self._around.clock.now())

    def read(self, boundary: Boundary) -> Ingest:
        files = self._files(int(boundary["version"]), bool(boundary.get("whole")))
        tables = [self._rows(each) for each in files[boundary["first"] : boundary["last"]]]
        return Ingest(pa.concat_tables(tables))

    def commit(self, boundary: Boundary) -> None:
        """Leave the table to those who write it."""

    def close(self) -> None:
        self._is_open, self._held = False, None

    def _step(self) -> None:
        """Go past versions of which everything was offered, as far as the log goes."""
        while self._is_whole or has_version(self._path, self._version):
            if self._place < len(self._files(self._version, self._is_whole)):
                return
            self._version, self._place, self._is_whole = self._version + 1, 0, False
            if self._bounded:
                return

    def _files(self, version: int, is_whole: bool) -> list[AddedFile]:
        held = self._held
        if held is None or held[:2] != (version, is_whole):
            files = (
                self._whole(version)
                if is_whole
                else added_files(self._path, version, ignore_removals=self._ignore)
            )
            self._held = held = (version, is_whole, files)
        return held[2]

    def _whole(self, version: int) -> list[AddedFile]:
        """Return all files that a version has, by their names."""
        deltalake = import_module("deltalake")
        try:
            table = deltalake.DeltaTable(self._path, version=version)
            features = set(table.protocol().reader_features or ()) - {"timestampNtz"}
            actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        except (deltalake.exceptions.DeltaError, OSError, ValueError) as error:
            raise self._failed(" ".join(str(error).split())) from error
        if features:
            raise self._failed(f"it uses {', '.join(sorted(features))}, which streams do not read")
        found = [
            AddedFile(
                self._path / each["path"],
                {k.removeprefix("partition."): v for k, v in each.items() if "partition." in k},
            )
            for each in actions
        ]
        return sorted(found, key=lambda each: each.path)

    def _rows(self, file: AddedFile) -> pa.Table:
        """Return a file's rows in the stream's columns; one that it has not yet is null."""
        target = arrow_schema(self._stream.schema)
        try:
            found = pq.ParquetFile(file.path, coerce_int96_timestamp_unit="us")
            has = {name.lower(): name for name in found.schema_arrow.names}
            wanted = [has[name.lower()] for name in target.names if name.lower() in has]
            rows = found.read(columns=wanted)
        except (OSError, pa.ArrowException) as error:
            raise self._failed(f"{file.path.name} cannot be read: {error}") from error
        values = {name.lower(): value for name, value in file.partition.items()}
        columns = [
            self._column(rows[has[f.name.lower()]], f)
            if f.name.lower() in has
            else _same(values.get(f.name.lower()), f, rows.num_rows)
            for f in target
        ]
        return pa.table(columns, schema=target)

    def _column(self, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        if not widens(column.type, field.type):
            raise self._failed(f"its {field.name} is {column.type}, and the stream's {field.type}")
        return cast(column, field.type)

    def _failed(self, why: str) -> SourceError:
        return SourceError(f"{self._path} cannot be read by {self._stream.name}: {why}")


def _same(value: Any, field: pa.Field, rows: int) -> pa.Array:
    """Return a column with the same value in each row; text as a directory's name has it."""
    if value is None or value == "":
        return pa.nulls(rows, field.type)
    return pa.repeat(pa.scalar(value), rows).cast(field.type)


def options_of(definition: StreamDefinition) -> dict[str, Any]:
    """Return the checked options."""
    options = read_options(definition.source, OPTIONS)
    event_time(definition)
    if vectors := [column.name for column in definition.schema if column.type in VECTORS]:
        raise BadOptionError(
            f"Delta Lake has no vectors: {', '.join(vectors)}", hint="declare ARRAY<FLOAT>"
        )
    if options["bounded"] and options["after_version"] is not None:
        raise BadOptionError("options bounded and after_version of delta exclude each other")
    return options
