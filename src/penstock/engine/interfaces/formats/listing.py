"""Which files there are, and the record of those that were found.

The record is an append-only list in the interface's home, on disk before a boundary that names
its lines is offered. It may run ahead of the journal: what was found and not yet journalled is
offered again, in the same order.
"""

import glob
import json
import os
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.engine.interfaces.durable import sync_directory, writing
from penstock.engine.interfaces.formats.remote import (
    RemoteFile,
    find_remote,
    is_remote,
    require_remote,
)
from penstock.errors import SourceError

HIDDEN_STARTS = (".", "_")
UNFINISHED_ENDS = (".tmp", ".crc", ".inprogress")
SEAL = "sealed"  # the record's last line where a bounded source has listed all it will ever hold


DataFile = Path | RemoteFile


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file as it was when it was found (seconds since 1970)."""

    path: DataFile
    size: int
    mtime_ns: int
    found: float


def stored(path: str) -> DataFile:
    """Return the file at a path or a URI."""
    return RemoteFile(path) if is_remote(path) else Path(path)


def is_wanted(name: str) -> bool:
    """Say whether a file of that name is data that its writer has finished."""
    return not name.startswith(HIDDEN_STARTS) and not name.endswith(UNFINISHED_ENDS)


def is_pattern(path: str) -> bool:
    """Say whether the path stands for many; a file that has brackets in its name does not."""
    return glob.has_magic(path) and not Path(path).exists()


def require(path: str) -> None:
    """Raise SourceError where the path, or the directory a pattern starts from, is not there."""
    if is_remote(path):
        require_remote(path)
        return
    fixed = Path(path)
    if not is_pattern(path):
        if not fixed.exists():
            raise SourceError(
                f"{path} is not there",
                hint=f"make it, or correct the path; it was looked for as {fixed.absolute()}",
            )
        return
    while glob.has_magic(str(fixed)):
        fixed = fixed.parent
    if not fixed.is_dir():
        raise SourceError(
            f"{fixed}, where the pattern {path} starts, is not a directory",
            hint="make the directory, or correct the path",
        )


def find(path: str, known: Container[str] = (), *, recursive: bool = False) -> list[str]:
    """Return the finished files at a path that are not known, as absolute paths.

    The path is a file, a directory (those in it, or also below it), or a pattern (its matches); or
    the URI of a file or a directory of other storage. Nothing is looked for in directories whose
    names say that they are hidden.
    """
    if is_remote(path):
        uris = find_remote(path, known, recursive=recursive)
        return [uri for uri in uris if all(map(is_wanted, uri.removeprefix(path).split("/")))]
    if is_pattern(path):
        matches = glob.iglob(path, recursive=True)  # noqa: PTH207 - Path.glob wants a relative one
        found = (Path(match).absolute() for match in matches)
        return [
            str(file)
            for file in found
            if str(file) not in known and is_wanted(file.name) and file.is_file()
        ]
    place = Path(path).absolute()
    if str(place) in known or place.is_file():
        return [] if str(place) in known else [str(place)]
    if recursive and place.is_dir():
        return [str(file) for file in _below(place) if str(file) not in known]
    try:
        with os.scandir(place) as entries:  # without Path: a source asks this all the time
            return [
                entry.path
                for entry in entries
                if entry.path not in known and is_wanted(entry.name) and entry.is_file()
            ]
    except OSError as error:
        raise SourceError(
            f"{path} cannot be listed: {error.strerror}", hint="was it moved or unmounted?"
        ) from error


def _below(place: Path) -> Iterator[Path]:
    """Return the finished files of a directory and of all below it, links not followed."""
    for directory, below, names in os.walk(place):
        below[:] = sorted(name for name in below if not name.startswith(HIDDEN_STARTS))
        yield from (Path(directory) / name for name in names if is_wanted(name))


class FileListing:
    """Every file that was ever found, in order; its number is its place in `entries`."""

    def __init__(self, path: Path) -> None:
        """Load the record, leaving out a last line that a crash cut short."""
        self.entries: list[FoundFile] = []
        self.sealed = False
        self._path = path
        self._known: set[str] = set()
        self._load()

    def look(self, path: str, now: float, *, recursive: bool = False) -> None:
        """Add the files that were not there before, oldest first."""
        fresh = find(path, self._known, recursive=recursive)
        if not fresh:
            return
        entries = [entry for file in fresh if (entry := _entry(stored(file), now)) is not None]
        entries.sort(key=lambda entry: (entry.mtime_ns, entry.path.name))
        self._append([json.dumps(_line(entry)) for entry in entries])
        self._add(entries)

    def seal(self) -> None:
        """Say that nothing is ever added again."""
        self._append([json.dumps(SEAL)])
        self.sealed = True

    def _load(self) -> None:
        if not self._path.exists():
            return
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with writing(self._path):
                os.truncate(self._path, len(whole))
        lines = [json.loads(line) for line in whole.splitlines()]
        self.sealed = bool(lines) and lines[-1] == SEAL
        self._add([FoundFile(stored(line[0]), *line[1:]) for line in lines if line != SEAL])

    def _append(self, lines: list[str]) -> None:
        with writing(self._path), self._path.open("ab", buffering=0) as file:
            before = file.tell()
            try:
                file.write("".join(line + "\n" for line in lines).encode())
                os.fsync(file.fileno())
            except OSError:
                file.truncate(before)  # a torn line would hide the ones after it
                raise
            sync_directory(self._path.parent)

    def _add(self, entries: list[FoundFile]) -> None:
        self.entries.extend(entries)
        self._known.update(str(entry.path) for entry in entries)


def _entry(file: DataFile, now: float) -> FoundFile | None:
    """Return the file as it is now, or None where it has just gone."""
    try:
        seen = file.stat()
    except OSError:
        return None
    return FoundFile(file, seen.st_size, seen.st_mtime_ns, now)


def _line(entry: FoundFile) -> list[object]:
    return [str(entry.path), entry.size, entry.mtime_ns, entry.found]
