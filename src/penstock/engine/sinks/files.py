"""files(path => 'out', format => 'json'): one file a delivery, part-00000001.json and so on.

With `partition_by`, a delivery is such a file in each directory that it has rows for. A file
appears whole or not at all, and on disk; the same number again writes the same bytes over it. The
directory belongs to one query, whose name stands in `.penstock`: the parts of two queries would
overwrite each other. Parts whose numbers the journal does not know go to `_set_aside`: their rows
will come again, or are another home's.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.engine.options import Declared, flag, local_path, one_of, read_options, text
from penstock.engine.sinks.csv_text import csv_text
from penstock.engine.sinks.json_lines import json_lines
from penstock.engine.sinks.parquet_bytes import parquet_bytes
from penstock.engine.sinks.partitions import by_partition
from penstock.engine.sinks.sink import ALONE, Delivery, SinkSurroundings
from penstock.engine.sinks.whole_file import (
    NO_ROOM,
    no_room,
    remove_drafts,
    sync_directory,
    write_whole,
)
from penstock.errors import BadOptionError, PenstockError, SinkError
from penstock.model.definitions import Connector, QueryDefinition

OWNER = ".penstock"
PART = re.compile(r"part-(\d{8,})\.(json|csv|parquet)")
ASIDE = "_set_aside"  # Spark, Arrow and our own sources read past such names

OPTIONS = {
    "path": Declared(local_path, required=True, about="where the parts go"),
    "format": Declared(one_of("json", "csv", "parquet"), default="json", about="of the parts"),
    "partition_by": Declared(text, about="columns whose values name directories, commas between"),
    "header": Declared(flag, about="with csv: each file begins with names; true if left out"),
}


class FilesSink:
    """Writes below `path` only, and leaves there what is not its own."""

    repeatable = True

    def __init__(self, definition: QueryDefinition, around: SinkSurroundings = ALONE) -> None:
        options = _options(definition)
        self._query = definition.name
        self._path: Path = options["path"].absolute()
        self._format: str = options["format"]
        given = options["partition_by"] or ""
        self._by = [name.strip() for name in given.split(",") if name.strip()]
        self._header: bool = options["header"] is not False

    @classmethod
    def check(cls, definition: QueryDefinition) -> None:
        """Raise what is wrong with the options."""
        _options(definition)

    @property
    def path(self) -> Path:
        """Return the directory."""
        return self._path

    def name_of(self, number: int) -> str:
        """Return the name of a delivery's file."""
        return f"part-{number:08d}.{self._format}"

    def set_aside(self, known: int) -> str:
        """Move the parts above a number out of the way, and return what to tell of it.

        Another query's are left alone: `open` will complain.
        """
        try:
            unknown = unknown_parts(self._path, known) if self._is_ours() else []
            if not unknown:
                return ""
            aside = move_aside(self._path, unknown)
        except OSError as error:
            raise self._failed(error) from error
        return (
            f"{len(unknown)} files of {self._path}, {unknown[0].name} and above, are not in the "
            f"journal: a loss of power took what it knew of them, or another home wrote them. "
            f"They are set aside in {aside}"
        )

    def open(self) -> None:
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            self._claim()
            for directory in _directories(self._path):
                remove_drafts(directory)
        except FileExistsError as error:
            raise SinkError(
                f"{self._path} is a file", hint="files(path => …) names a directory"
            ) from error
        except OSError as error:
            raise self._failed(error) from error

    def write(self, delivery: Delivery) -> None:
        name = self.name_of(delivery.number)
        try:
            if not self._by:
                write_whole(self._path / name, self._packed(delivery.rows), sync=True)
            for directory, rows in by_partition(delivery.rows, self._by) if self._by else ():
                self._make(self._path / directory)
                write_whole(self._path / directory / name, self._packed(rows), sync=True)
        except (OSError, pa.ArrowException) as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Nothing is held between deliveries."""

    def _make(self, directory: Path) -> None:
        """Make a directory below ours, and put the names on the way to it on disk."""
        if directory.is_dir():
            return
        self._make(directory.parent)
        directory.mkdir()
        sync_directory(directory.parent)

    def _claim(self) -> None:
        owner = self._path / OWNER
        if not owner.exists():
            write_whole(owner, f"{self._query}\n".encode(), sync=False)
        elif (name := owner.read_text(errors="replace")) != f"{self._query}\n":
            raise SinkError(
                f"{self._path} holds the results of query {name.strip()}",
                hint=f"name another path for {self._query}, or remove the directory",
            )

    def _is_ours(self) -> bool:
        owner = self._path / OWNER
        return not owner.exists() or owner.read_text(errors="replace") == f"{self._query}\n"

    def _packed(self, rows: pa.Table) -> bytes | pa.Buffer:
        match self._format:
            case "csv":
                return csv_text(rows, header=self._header)
            case "parquet":
                return parquet_bytes(rows)
            case _:
                return json_lines(rows)

    def _failed(self, error: OSError | pa.ArrowException) -> PenstockError:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return no_room(self._path)
        return SinkError(f"results of {self._query} cannot be written to {self._path}: {error}")


def unknown_parts(directory: Path, known: int) -> list[Path]:
    """Return the parts above a number, in order, also those of partitions."""
    paths = [path for each in _directories(directory) for path in each.iterdir()]
    found = ((PART.fullmatch(path.name), path) for path in paths)
    numbered = sorted((int(name[1]), path) for name, path in found if name is not None)
    return [path for number, path in numbered if number > known]


def move_aside(directory: Path, parts: Sequence[Path]) -> Path:
    """Move files of a directory below its `_set_aside`, over nothing that is there."""
    taken = [int(each.name) for each in (directory / ASIDE).glob("[0-9]*") if each.name.isdigit()]
    aside = directory / ASIDE / str(max(taken, default=0) + 1)
    aside.mkdir(parents=True)
    for path in parts:
        place = aside / path.relative_to(directory)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)
    for changed in {aside, aside.parent, directory, *(path.parent for path in parts)}:
        sync_directory(changed)
    return aside


def _directories(top: Path) -> list[Path]:
    """Return a directory and those of its partitions: below it, names with values."""
    found = [top] if top.is_dir() else []
    for each in found:  # grows by what is below
        found += sorted(path for path in each.iterdir() if "=" in path.name and path.is_dir())
    return found


def _options(definition: QueryDefinition) -> dict[str, Any]:
    options = read_options(definition.sink or Connector("files"), OPTIONS)
    if options["header"] is not None and options["format"] != "csv":
        raise BadOptionError(
            f"option header of files goes with csv, not with {options['format']}",
            hint="leave it out: only csv has a line of column names",
        )
    return options
