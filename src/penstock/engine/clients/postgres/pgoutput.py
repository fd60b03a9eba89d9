"""What PostgreSQL's plugin pgoutput tells of changes, version 1 of its protocol.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MICROS_TO_2000 = 946_684_800_000_000  # from 1970, in microseconds
UNCHANGED = object()  # a large value that an UPDATE left as it was, and that is not told again
Value = str | None | object


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as it is from here on: its columns with the numbers of their types."""

    schema: str
    name: str
    columns: tuple[str, ...]
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One row's change: 'insert', 'update', 'delete', or 'truncate', which has no values."""

    relation: Relation
    what: str
    values: Sequence[Value] = ()


@dataclass(frozen=True, slots=True)
class Committed:
    """A transaction that was committed: the end of its commit in the log, and what it changed."""

    number: int
    end: int
    micros: int  # of its commit, since 1970
    changes: Sequence[Change] = field(default=())


class _Reader:
    """Reads a message from its beginning."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(f">{form}", self._data, self._at)
        self._at += struct.calcsize(f">{form}")
        return int(value)

    def letter(self) -> str:
        return chr(self.take("B"))

    def text(self) -> str:
        end = self._data.index(b"\0", self._at)
        found = self._data[self._at : end].decode()
        self._at = end + 1
        return found

    def row(self) -> list[Value]:
        return [self._value() for _ in range(self.take("h"))]

    def _value(self) -> Value:
        match self.letter():
            case "n":
                return None
            case "u":
                return UNCHANGED
            case _:
                size = self.take("i")
                found = self._data[self._at : self._at + size].decode()
                self._at += size
                return found


class Decoder:
    """Puts messages together to transactions; it remembers the tables that it was told of."""

    def __init__(self) -> None:
        self._relations: dict[int, Relation] = {}
        self._number = 0
        self._changes: list[Change] = []

    def transactions(self, messages: Sequence[bytes]) -> Iterator[Committed]:
        """Give the transactions that end among the messages."""
        for message in messages:
            if (committed := self._take(_Reader(message))) is not None:
                yield committed

    def _take(self, read: _Reader) -> Committed | None:
        match read.letter():
            case "B":
                read.take("q")
                read.take("q")
                self._number, self._changes = read.take("I"), []
            case "C":
                read.take("B")
                read.take("q")
                end, micros = read.take("q"), read.take("q") + MICROS_TO_2000
                return Committed(self._number, end, micros, tuple(self._changes))
            case "R":
                self._relate(read)
            case "I" | "U" | "D" as kind:
                self._change(kind, read)
            case "T":
                count = read.take("i")
                read.take("B")
                tables = [self._relations[read.take("I")] for _ in range(count)]
                self._changes += [Change(table, "truncate") for table in tables]
            case _:
                pass  # origins, types and messages of others say nothing of rows
        return None

    def _relate(self, read: _Reader) -> None:
        number, schema, name = read.take("I"), read.text(), read.text()
        read.take("B")
        columns, types = [], []
        for _ in range(read.take("h")):
            read.take("B")
            columns.append(read.text())
            types.append(read.take("I"))
            read.take("i")
        self._relations[number] = Relation(schema, name, tuple(columns), tuple(types))

    def _change(self, kind: str, read: _Reader) -> None:
        relation, part = self._relations[read.take("I")], read.letter()
        first = read.row()
        if kind == "I":
            self._changes.append(Change(relation, "insert", first))
        elif kind == "D":
            self._changes.append(Change(relation, "delete", first))
        elif part == "N":
            self._changes.append(Change(relation, "update", first))
        else:  # the old row or its key came first
            read.letter()
            new = read.row()
            old = [old if new is UNCHANGED else new for old, new in zip(first, new, strict=True)]
            self._changes.append(Change(relation, "update", old if part == "O" else new))
