"""Writing to an interface's home so that a crash leaves the old or the new, never a part."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.errors import DiskFullError, HomeError

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def writing(where: Path) -> Iterator[None]:
    """Turn what the file system says while we write into an error that a user can act on."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise DiskFullError(
                f"no room left to write {where}", hint="free some space; nothing was lost"
            ) from error
        raise HomeError(
            f"cannot write {where}: {error.strerror or error}",
            hint="check that the directory exists and may be written",
        ) from error


def make_home(home: Path) -> None:
    """Make the interface's directory."""
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write the value whole and on disk, or leave what was there."""
    draft = path.with_name(path.name + ".draft")
    with writing(path):
        with draft.open("w") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_directory(path.parent)


def read_json(path: Path) -> Any | None:
    """Return what `write_json` wrote, or None."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None


def sync_directory(path: Path) -> None:
    """Put the names in a directory on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
