"""Files that grow: what is added to them, a whole number of lines at a time.

A boundary holds pieces `[file, first, last, sign]`, bytes of files by their numbers in the record
that the home keeps (listing.py), and `places`, how far every file was read. A sign is the checksum
of the bytes before `last`: a file that was cut short, or that another has taken the place of, does
not have it, and is an error.
"""

import zlib
from collections.abc import Iterator
from typing import Any

from penstock.engine.interfaces.durable import make_home
from penstock.engine.interfaces.formats.lines import is_compressed
from penstock.engine.interfaces.formats.listing import FileListing, FoundFile, require
from penstock.engine.interfaces.formats.reader import FilePiece
from penstock.engine.interfaces.formats.text import TextReader
from penstock.engine.interfaces.frames import sweep
from penstock.engine.interfaces.interface import Boundary, Ingest, Offer, Surroundings
from penstock.errors import BadOptionError, SourceError

SIGN_BYTES = 256  # before a place, by which a file is known again
LOOK_BYTES = 1 << 16  # read at once to find the end of the last whole line
MOST_BYTES = 16 << 20  # of one piece; and so the longest line
MOST_FILES = 1_000  # followed at once: a boundary names all of them
EXCLUDED = ("bounded", "multiline", "rows_per_train", "files_per_train")

Place = tuple[int, int]  # how far a file was read, and the sign there


class FollowedFiles:
    """One stream's files, none of which is ever over."""

    def __init__(self, options: dict[str, Any], reader: TextReader, around: Surroundings) -> None:
        """Take the options of `files`, checked."""
        self._path: str = options["path"]
        self._recursive: bool = options["recursive"]
        self._reader, self._around = reader, around
        self._record: FileListing | None = None
        self._places: dict[int, Place] = {}

    @property
    def bounded(self) -> bool:
        return False

    @property
    def ended(self) -> bool:
        return False

    def open(self, after: Boundary | None) -> None:
        make_home(self._around.home)
        sweep(self._around)
        self._around.allowed().require_readable(self._path)
        self._reader.open()
        self._record = FileListing(self._around.home / "files.jsonl")
        if not self._record.entries:
            require(self._path)
        given = after["places"] if after is not None else []
        self._places = {file: (place, sign) for file, place, sign in given}

    def next(self) -> Offer | None:
        record, now = self._recorded(), self._around.clock.now()
        record.look(self._path, now, recursive=self._recursive)
        if len(record.entries) > MOST_FILES:
            raise SourceError(
                f"{self._path} has had more than {MOST_FILES:,} files, too many to follow",
                hint="follow fewer by a pattern, or take whole files: without tail => true",
            )
        pieces, size = [], 0
        for file, entry in enumerate(record.entries):
            piece = self._grown(file, entry)
            if piece is not None:
                pieces.append(piece)
                size += piece[2] - piece[1]
            if size >= MOST_BYTES:
                break
        if not pieces:
            return None
        self._places |= {file: (last, sign) for file, _, last, sign in pieces}
        places = [[file, *place] for file, place in sorted(self._places.items())]
        return Offer({"pieces": [list(piece) for piece in pieces], "places": places}, now)

    def read(self, boundary: Boundary) -> Ingest:
        entries = self._recorded().entries
        for file, _, last, sign in boundary["pieces"]:
            self._require_same(entries[file], last, sign)
        pieces = [
            FilePiece(entries[file], first, last) for file, first, last, _ in boundary["pieces"]
        ]
        return self._reader.read(pieces)

    def commit(self, boundary: Boundary) -> None:
        """Leave the files to those who write them."""

    def close(self) -> None:
        self._record = None

    def _recorded(self) -> FileListing:
        if self._record is None:
            raise RuntimeError("files: next or read before open")
        return self._record

    def _grown(self, file: int, entry: FoundFile) -> tuple[int, int, int, int] | None:
        """Return the piece of whole lines that was added to a file, or None."""
        place, sign = self._places.get(file, (0, 0))
        try:
            size = entry.path.stat().st_size
        except FileNotFoundError:
            return None  # it was read as far as it was there
        except OSError as error:
            raise _unreadable(entry, error) from error
        if size == place:
            return None
        if is_compressed(entry.path):
            raise SourceError(
                f"{entry.path} is compressed, and cannot be followed",
                hint="let the pattern leave it out: 'logs/*.json'",
            )
        self._require_same(entry, place, sign)
        last = _last_line(entry, place, size)
        return None if last == place else (file, place, last, _sign(entry, last))

    def _require_same(self, entry: FoundFile, place: int, sign: int) -> None:
        """Raise SourceError where a file does not have what was read of it."""
        if place and _sign(entry, place) != sign:
            raise SourceError(
                f"{entry.path} no longer has its first {place:,} bytes: it was cut short, or "
                "another file has its name",
                hint="let files that are begun anew have new names, such as app-2026-01-31.log; "
                "put this one back, or drop the stream and make it again",
            )


def check_followed(options: dict[str, Any]) -> None:
    """Raise BadOptionError where a file with such options cannot be followed."""
    if options["format"] == "parquet":
        raise BadOptionError(
            "a file of parquet does not grow", hint="tail => true goes with json, csv and text"
        )
    if wrong := next((name for name in EXCLUDED if options[name]), None):
        raise BadOptionError(f"options tail and {wrong} of files exclude each other")
    if options["after"] != "leave":
        raise BadOptionError("a file that is followed is never done with: leave out `after`")


def _sign(entry: FoundFile, place: int) -> int:
    """Return the checksum of the bytes before a place; -1 where the file is shorter."""
    try:
        with entry.path.open("rb") as file:
            file.seek(max(0, place - SIGN_BYTES))
            data = file.read(min(place, SIGN_BYTES))
    except OSError as error:
        raise _unreadable(entry, error) from error
    return zlib.crc32(data) if len(data) == min(place, SIGN_BYTES) else -1


def _last_line(entry: FoundFile, place: int, size: int) -> int:
    """Return the end of the last whole line between two places, or the first where none ends."""
    end = min(size, place + MOST_BYTES)
    try:
        with entry.path.open("rb") as file:
            for start in _backwards(place, end):
                file.seek(start)
                data = file.read(min(LOOK_BYTES, end - start))
                if (at := data.rfind(b"\n")) >= 0:
                    return start + at + 1
    except OSError as error:
        raise _unreadable(entry, error) from error
    if end < size:
        raise SourceError(f"{entry.path} has a line of more than {MOST_BYTES >> 20} MiB")
    return place


def _backwards(place: int, end: int) -> Iterator[int]:
    start = end
    while start > place:
        start = max(place, start - LOOK_BYTES)
        yield start


def _unreadable(entry: FoundFile, error: OSError) -> SourceError:
    return SourceError(f"{entry.path} cannot be read: {error.strerror or error}")
