"""Files that are there whole or not at all."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from penstock.errors import DiskFullError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


def write_whole(
    path: Path, data: bytes | pa.Buffer | Callable[[BinaryIO], None], *, sync: bool
) -> None:
    """Put a file there in one step, in place of what was; `sync` waits for the disk.

    `data` may be what writes it, too, so that much of it need not lie in memory twice.
    Raises DiskFullError, or OSError for the caller to explain; nothing is left behind then.
    """
    draft = path.with_name(f".{path.name}.new")  # hidden: Spark and Arrow read past such names
    try:
        with draft.open("wb") as file:
            if callable(data):
                data(file)
            else:
                file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
        if sync:
            sync_directory(path.parent)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise no_room(path) from error
        raise


def no_room(path: Path) -> DiskFullError:
    """Return what to tell where a write met a full disk."""
    return DiskFullError(
        f"no room left for {path}", hint="free some room: the rows will be written again"
    )


def remove_drafts(directory: Path) -> None:
    """Remove what a killed process left half written."""
    for draft in directory.glob(".*.new"):
        draft.unlink(missing_ok=True)


def sync_directory(directory: Path) -> None:
    """Put the names in a directory on disk."""
    sync_file(directory)


def sync_file(path: Path) -> None:
    """Put a finished file on disk, in its place."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
