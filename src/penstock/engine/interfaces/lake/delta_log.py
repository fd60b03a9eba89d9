"""The log of a table of Delta Lake: which files each version added, and which rows it took away.

The protocol: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from penstock.errors import SourceError

LOG = "_delta_log"
# What a reader of version 1 need not know; others change how files are read.
READER_VERSION = 1
KNOWN_FEATURES = frozenset({"timestampNtz"})


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A file of rows, and the values that its directory stands for, by column."""

    path: Path
    partition: Mapping[str, Any]


def has_version(table: Path, version: int) -> bool:
    """Say whether a table has come to a version, and its log still tells of it."""
    return _entry(table, version).exists()


def latest_version(table: Path) -> int:
    """Return the number of a table's last version; SourceError where there is no table."""
    names = (path.stem for path in (table / LOG).glob("*.json"))
    found = [int(name) for name in names if name.isdigit()]
    if not found:
        raise SourceError(f"{table} is no table of Delta Lake", hint="check the path")
    return max(found)


def added_files(table: Path, version: int, *, ignore_removals: bool) -> list[AddedFile]:
    """Return the files with new rows of a version, in the order of the log."""
    try:
        lines = _entry(table, version).read_text().splitlines()
    except OSError as error:
        raise SourceError(
            f"version {version} of {table} is no longer in its log",
            hint="the log was cleaned before it was read; drop the stream and make it again",
        ) from error
    actions = [json.loads(line) for line in lines]
    for action in actions:
        _require_readable(table, action)
        removed = action.get("remove")
        if removed is not None and removed.get("dataChange", True) and not ignore_removals:
            raise SourceError(
                f"version {version} of {table} takes rows away, and a stream cannot",
                hint="ignore_removals => true reads what it adds alone: rows that an UPDATE has "
                "written anew come again",
            )
    added = [action["add"] for action in actions if "add" in action]
    return [
        AddedFile(table / unquote(add["path"]), add.get("partitionValues") or {})
        for add in added
        if add.get("dataChange", True)
    ]


def _entry(table: Path, version: int) -> Path:
    return table / LOG / f"{version:020}.json"


def _require_readable(table: Path, action: Mapping[str, Any]) -> None:
    """Raise SourceError where files have to be read in a way that we do not know."""
    protocol = action.get("protocol") or {}
    features = set(protocol.get("readerFeatures") or ()) - KNOWN_FEATURES
    version = protocol.get("minReaderVersion", READER_VERSION)
    old = not protocol.get("readerFeatures") and version > READER_VERSION
    vector = (action.get("add") or {}).get("deletionVector")
    if features or old or vector:
        what = ", ".join(sorted(features)) or ("deletionVectors" if vector else "columnMapping")
        raise SourceError(
            f"{table} uses {what} of Delta Lake, which streams do not read",
            hint="read it as a table: CREATE TABLE … FROM delta(…)",
        )
