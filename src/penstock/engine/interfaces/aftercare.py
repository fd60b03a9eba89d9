"""What becomes of a source's files once no checkpoint needs them: left, moved or deleted."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.engine.interfaces.durable import read_json, write_json
from penstock.engine.interfaces.formats.listing import FoundFile
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.options import Declared, local_path, one_of
from penstock.errors import BadOptionError, SourceError

AFTER_OPTIONS = {
    "after": Declared(
        one_of("leave", "move", "delete"),
        default="leave",
        about="what becomes of a file that is done with",
    ),
    "move_to": Declared(local_path, about="with after => 'move': the directory that files go to"),
}


class Aftercare:
    """Treats the files of one stream in the order of its record, each once."""

    def __init__(self, what: str, move_to: Path | None, path: str, around: Surroundings) -> None:
        self._what, self._path, self._around = what, path, around
        self._move_to = move_to.absolute() if move_to is not None else None
        self._kept = around.home / "treated.json"
        self._trouble = ""

    @classmethod
    def of(cls, options: dict[str, Any], around: Surroundings) -> "Aftercare":
        """Take AFTER_OPTIONS and the path."""
        return cls(options["after"], options["move_to"], options["path"], around)

    def open(self) -> None:
        """Raise NotAllowedError where files may not be taken away, or put where they are to go."""
        if self._what == "leave":
            return
        allowed = self._around.allowed()
        allowed.require_writable(_root_of(self._path))
        if self._move_to is not None:
            allowed.require_writable(self._move_to)

    def treat(self, done: Sequence[FoundFile]) -> None:
        """Treat those of the record's first files that have not been treated yet.

        One that cannot be is told by `complain`, and tried again the next time.
        """
        if self._what == "leave":
            return
        first = int(read_json(self._kept) or 0)
        self._trouble, upto = "", first
        for entry in done[first:]:
            path = Path(str(entry.path))  # of this machine: others stay
            try:
                if path.exists() and path.stat().st_size != entry.size:
                    self._trouble = f"{path} is not as it was read, and stays: move it away"
                    break
                self._treat(path)
            except OSError as error:
                self._trouble = f"{path} cannot be taken away: {error.strerror or error}"
                break
            upto += 1
        if upto > first:
            write_json(self._kept, upto)

    def complain(self) -> None:
        """Raise SourceError where a file could not be treated."""
        if self._trouble:
            raise SourceError(
                self._trouble, hint="its rows are in; it is tried again at later checkpoints"
            )

    def _treat(self, path: Path) -> None:
        if self._what == "delete":
            path.unlink(missing_ok=True)
        elif self._move_to is not None and path.exists():  # else it was moved before a crash
            self._move_to.mkdir(parents=True, exist_ok=True)
            shutil.move(path, _free(self._move_to / path.name))


def check_after(options: dict[str, Any]) -> None:
    """Raise BadOptionError where the options contradict each other."""
    if (options["after"] == "move") != (options["move_to"] is not None):
        raise BadOptionError(
            "after => 'move' and move_to => … of files go together",
            hint="files(…, after => 'move', move_to => 'done')",
        )
    if options["move_to"] is not None:
        root, place = _root_of(options["path"]).resolve(), options["move_to"].resolve()
        if place == root or (place.is_relative_to(root) and options["recursive"]):
            raise BadOptionError(
                f"{options['move_to']} is where the stream looks for files",
                hint="move them to a directory beside it",
            )


def _root_of(path: str) -> Path:
    """Return the directory in which files of a path are."""
    fixed = Path(path)
    while any(mark in str(fixed) for mark in "*?["):
        fixed = fixed.parent
    return fixed if fixed.is_dir() or str(fixed) != path else fixed.parent


def _free(path: Path) -> Path:
    """Return the path, or one beside it where there is a file of that name."""
    number = 0
    found = path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return found
