"""Keys of pushes: which rows have come before, so that a client may repeat a push.

A key is put down before its rows are appended, with the number of tuples that the log has then.
Nobody else appends in between, so a key whose position is below the log's end has its rows there;
one at the end or beyond has not, and is forgotten when the log is opened: the process died between
the two, or the kernel did and the log lost its tail.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.database import Database, DatabaseFormat

FORMAT = DatabaseFormat(
    "the file of push keys",
    """
CREATE TABLE keys (
    stream TEXT NOT NULL, key TEXT NOT NULL, position INTEGER NOT NULL, rows INTEGER NOT NULL,
    fingerprint BLOB NOT NULL, at REAL NOT NULL, PRIMARY KEY (stream, key)) WITHOUT ROWID;
CREATE INDEX ages ON keys (at);
""",
)
KEEP_SECONDS = 86_400.0  # a client that repeats after a day has forgotten what it repeats
TRIM_EVERY = 1000  # keys from one look at old ones to the next


@dataclass(frozen=True, slots=True)
class KnownPush:
    """A push that came before: its rows, and what tells whether one that comes is the same."""

    rows: int
    fingerprint: bytes


class PushKeys:
    """Safe in many threads; who appends to a stream holds its own lock around these calls."""

    def __init__(
        self, path: Path, now: Callable[[], float], keep_seconds: float = KEEP_SECONDS
    ) -> None:
        self._file = Database(path, FORMAT)
        self._now, self._keep_seconds = now, keep_seconds
        self._until_trim = 0

    def find(self, stream: str, key: str) -> KnownPush | None:
        """Return the push that came with a key, if any."""
        found = self._file.rows(
            "SELECT rows, fingerprint FROM keys WHERE stream = ? AND key = ?", stream, key
        )
        return KnownPush(*found[0]) if found else None

    def put(self, stream: str, key: str, position: int, push: KnownPush, *, to_disk: bool) -> None:
        """Note that a push is about to be appended at a position."""
        now = self._now()
        with self._file.transaction(to_disk=to_disk):
            self._file.execute(
                "INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)",
                stream,
                key,
                position,
                push.rows,
                push.fingerprint,
                now,
            )
            self._until_trim -= 1
            if self._until_trim < 0:
                self._until_trim = TRIM_EVERY
                self._file.execute("DELETE FROM keys WHERE at < ?", now - self._keep_seconds)

    def settle(self, stream: str, rows: int) -> None:
        """Forget the keys whose rows did not reach a log that has so many tuples."""
        self._file.execute("DELETE FROM keys WHERE stream = ? AND position >= ?", stream, rows)

    def forget_stream(self, stream: str) -> None:
        """Forget the keys of a stream that is gone."""
        self._file.execute("DELETE FROM keys WHERE stream = ?", stream)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
