"""Firings as data: the tuples of one trigger batch for one action of one rule."""

from dataclasses import dataclass

import pyarrow as pa

CONDITION = -1  # in the place of an action: the condition has still to be asked


@dataclass(frozen=True, slots=True)
class Fired:
    """Tuples that fired a rule, for one of its actions; `room` is how many more may wait.

    Those beyond it are dead letters at once. `first` says that it is the rule's first action, by
    which firings are counted. With a `cause`, its condition could not be asked about the tuples,
    of which so many stay as dead letters.
    """

    rule: str
    action: int
    rows: pa.Table
    depth: int
    room: int
    first: bool = True
    cause: str = ""
    most: int = 0


@dataclass(frozen=True, slots=True)
class PendingAction:
    """A firing that is not done; `done` of its tuples are.

    A dead letter was part of another firing, its `origin`, behind so many tuples of that.
    """

    id: int
    rule: str
    action: int
    at: float
    depth: int
    count: int
    done: int
    tries: int
    due: float
    cause: str
    kept: bytes
    origin: int
    skipped: int

    @property
    def key(self) -> str:
        """Return what stays the same whenever its next tuple is tried again."""
        return f"{self.rule}.{self.action}.{self.origin}.{self.skipped + self.done}"

    @property
    def rows(self) -> pa.Table:
        """Return the tuples that are left."""
        with pa.ipc.open_stream(self.kept) as reader:
            return reader.read_all().slice(self.done)


@dataclass(frozen=True, slots=True)
class Intent:
    """An INSERT that was about to append `taken` tuples behind a position of a stream."""

    id: int
    stream: str
    position: int
    taken: int


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """What a rule has done and not done, in tuples; `failures` counts tries."""

    fired: int = 0
    done: int = 0
    held_back: int = 0
    failures: int = 0
    lost: int = 0
    waiting: int = 0
    dead: int = 0
    cause: str = ""


def kept(rows: pa.Table) -> bytes:
    """Return a table as bytes that `Firing.rows` reads."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return bytes(sink.getvalue())
