"""`files`: JSON, CSV, text or Parquet files as they appear in a directory.

A boundary holds pieces `[file, first, last]`: the file's number in the record that the home
keeps (listing.py), and the bytes of text or rows of Parquet; no `last` means the whole file.
"""

from collections.abc import Iterator
from typing import Any

from penstock.engine.interfaces.aftercare import AFTER_OPTIONS, Aftercare, check_after
from penstock.engine.interfaces.durable import make_home
from penstock.engine.interfaces.followed_files import FollowedFiles, check_followed
from penstock.engine.interfaces.formats.listing import FileListing, require
from penstock.engine.interfaces.formats.parquet import ParquetReader
from penstock.engine.interfaces.formats.reader import (
    FORMAT_OPTIONS,
    FileFormat,
    FilePiece,
    FormatReader,
)
from penstock.engine.interfaces.formats.remote import check_remote, is_remote
from penstock.engine.interfaces.formats.text import TextReader, require_one_text
from penstock.engine.interfaces.frames import sweep
from penstock.engine.interfaces.interface import Boundary, Ingest, Interface, Offer, Surroundings
from penstock.engine.interfaces.rejects import event_time
from penstock.engine.options import Declared, flag, read_options, whole
from penstock.errors import BadOptionError
from penstock.model.definitions import StreamDefinition

TRAIN_FILES = 64  # few leaves in a plan, and a boundary that stays small
TRAIN_BYTES = 128 << 20  # what the driver holds at once as text, or Spark reads in a second or two

OPTIONS = {
    **FORMAT_OPTIONS,
    "bounded": Declared(flag, default=False, about="take what is there, then end"),
    "files_per_train": Declared(whole(), about="most files in a train"),
    "recursive": Declared(flag, default=False, about="also what is below the directory"),
    "tail": Declared(flag, default=False, about="files grow: follow what is added to them"),
    **AFTER_OPTIONS,
}

RawPiece = tuple[int, int, int | None]


class Files:
    """One stream's files."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        """Keep the options; nothing is looked at yet."""
        options = options_of(definition)
        self._path: str = options["path"]
        self._bounded: bool = options["bounded"]
        self._one_piece = options["rows_per_train"] is not None
        self._most_files: int = options["files_per_train"] or TRAIN_FILES
        self._reader = reader_of(definition, FileFormat.of(options), around)
        self._recursive: bool = options["recursive"]
        self._after = Aftercare.of(options, around)
        self._around = around
        self._record: FileListing | None = None
        self._file, self._place = 0, 0

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        options_of(definition)

    @property
    def bounded(self) -> bool:
        return self._bounded

    @property
    def ended(self) -> bool:
        record = self._record
        return record is not None and record.sealed and self._file >= len(record.entries)

    def open(self, after: Boundary | None) -> None:
        make_home(self._around.home)
        sweep(self._around)
        self._around.allowed().require_readable(self._path)
        self._after.open()
        self._reader.open()
        record = FileListing(self._around.home / "files.jsonl")
        if not record.entries and not record.sealed:
            require(self._path)
        if self._bounded and not record.sealed:
            record.look(self._path, self._around.clock.now(), recursive=self._recursive)
            record.seal()
        self._record = record
        self._file, self._place = 0, 0
        if after is not None:
            self._step(after["pieces"][-1])

    def next(self) -> Offer | None:
        pieces = list(self._waiting())
        if not pieces:
            self._after.complain()
            return None
        found = self._recorded().entries[pieces[0][0]].found
        return Offer({"pieces": [list(piece) for piece in pieces]}, found)

    def read(self, boundary: Boundary) -> Ingest:
        entries = self._recorded().entries
        pieces = [FilePiece(entries[file], first, last) for file, first, last in boundary["pieces"]]
        return self._reader.read(pieces)

    def commit(self, boundary: Boundary) -> None:
        file, _, last = boundary["pieces"][-1]
        entries = self._recorded().entries
        extent = None if last is None else self._reader.extent(entries[file])
        is_over = last is None or (extent is not None and last >= extent)
        self._after.treat(entries[: file + 1 if is_over else file])

    def close(self) -> None:
        self._record = None

    def _recorded(self) -> FileListing:
        if self._record is None:
            raise RuntimeError("files: next or read before open")
        return self._record

    def _waiting(self) -> Iterator[RawPiece]:
        """Step past the pieces of one train."""
        size, files = 0, set[int]()
        while (piece := self._cut()) is not None:
            weight = self._weight(piece)
            if files and (
                size + weight > TRAIN_BYTES or len(files | {piece[0]}) > self._most_files
            ):
                return
            self._step(piece)
            size += weight
            files.add(piece[0])
            yield piece
            if self._one_piece:
                return

    def _cut(self) -> RawPiece | None:
        """Return the next piece without stepping past it."""
        record = self._recorded()
        if self._file >= len(record.entries) and not record.sealed:
            record.look(self._path, self._around.clock.now(), recursive=self._recursive)
        if self._file >= len(record.entries):
            return None
        entry = record.entries[self._file]
        if self._reader.extent(entry) is None:
            return self._file, self._place, None
        return self._file, self._place, self._reader.cut(entry, self._place)

    def _weight(self, piece: RawPiece) -> int:
        file, first, last = piece
        return self._recorded().entries[file].size if last is None else last - first

    def _step(self, piece: RawPiece) -> None:
        """Go to what comes after the piece."""
        file, _, last = piece
        entry = self._recorded().entries[file]
        extent = None if last is None else self._reader.extent(entry)
        if last is None or (extent is not None and last >= extent):
            self._file, self._place = file + 1, 0
        else:  # more of it waits; or it is gone, and its rest is to be told of
            self._file, self._place = file, last


def options_of(definition: StreamDefinition) -> dict[str, Any]:
    """Return the checked options."""
    options = read_options(definition.source, OPTIONS)
    if options["rows_per_train"] is not None and options["files_per_train"] is not None:
        raise BadOptionError(
            "options rows_per_train and files_per_train of files exclude each other",
            hint="a train is a run of rows of one file, or whole files",
        )
    if is_remote(options["path"]):
        check_remote(options["path"])
        _refuse_changing(options)
    check_after(options)
    if options["format"] == "text":
        require_one_text(definition)
    if options["tail"]:
        check_followed(options)
    event_time(definition)
    return options


def _refuse_changing(options: dict[str, Any]) -> None:
    """Raise where files of other storage are to be followed, or taken away."""
    if options["tail"] or options["after"] != "leave":
        raise BadOptionError(
            "tail and after are for files of this machine",
            hint="objects of other storage are whole when they appear, and stay",
        )


def reader_of(
    definition: StreamDefinition, file_format: FileFormat, around: Surroundings
) -> FormatReader:
    """Return the reader of a format."""
    if file_format.format == "parquet":
        return ParquetReader(definition, file_format)
    return TextReader(definition, file_format, around)


def require_local(path: str) -> None:
    """Refuse a path that the driver cannot list."""
    if "://" in path:
        raise BadOptionError(
            f"option path must be a path on this machine, not '{path}'",
            hint="for other storage use spark(format => 'json', path => '…')",
        )


class FilesKind:
    """What stands after FROM: files that are whole when they appear, or files that grow."""

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        """Raise what is wrong with the options."""
        options_of(definition)

    def __call__(self, definition: StreamDefinition, around: Surroundings) -> Interface:
        """Return a closed interface."""
        options = options_of(definition)
        if not options["tail"]:
            return Files(definition, around)
        file_format = FileFormat.of(options)
        return FollowedFiles(options, TextReader(definition, file_format, around), around)


FILES = FilesKind()
