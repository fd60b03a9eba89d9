"""What messages are made of: each kind of field knows its bytes in both directions.

The law: `read` gives back what `write` was given, and takes exactly its bytes.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import WireError


@dataclass(slots=True)
class Cursor:
    """Bytes that are read from the front."""

    data: bytes
    at: int = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if count < 0 or self.at + count > len(self.data):
            raise WireError("a message ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def rest(self) -> bytes:
        """Return all that is left."""
        return self.take(len(self.data) - self.at)

    def until_zero(self) -> bytes:
        """Return the bytes before the next zero, and pass it."""
        end = self.data.find(0, self.at)
        if end < 0:
            raise WireError("a text in a message has no end")
        found = self.take(end - self.at)
        self.at += 1
        return found


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of field: to bytes, and from them."""

    write: Callable[[Any], bytes]
    read: Callable[[Cursor], Any]


def _packed(form: str) -> Kind:
    size = struct.calcsize(form)

    def write(value: Any) -> bytes:
        return struct.pack(form, value)

    return Kind(write, lambda cursor: struct.unpack(form, cursor.take(size))[0])


def _write_text(value: str) -> bytes:
    return value.replace("\0", "").encode(errors="replace") + b"\0"


def _read_text(cursor: Cursor) -> str:
    try:
        return cursor.until_zero().decode()
    except UnicodeDecodeError:
        raise WireError("a text in a message is not UTF-8") from None


def _write_value(value: bytes | None) -> bytes:
    return INT32.write(-1) if value is None else INT32.write(len(value)) + value


def _read_value(cursor: Cursor) -> bytes | None:
    size: int = INT32.read(cursor)
    return None if size == -1 else cursor.take(size)


def counted(kind: Kind, length: Kind | None = None) -> Kind:
    """Return the kind of a list that begins with its length, in two bytes if not said otherwise."""
    size = length or UINT16

    def write(values: Sequence[Any]) -> bytes:
        return size.write(len(values)) + b"".join(map(kind.write, values))

    def read(cursor: Cursor) -> tuple[Any, ...]:
        return tuple(kind.read(cursor) for _ in range(size.read(cursor)))

    return Kind(write, read)


def ended(kind: Kind) -> Kind:
    """Return the kind of a list that a zero ends."""

    def write(values: Sequence[Any]) -> bytes:
        return b"".join(map(kind.write, values)) + b"\0"

    def read(cursor: Cursor) -> tuple[Any, ...]:
        found = []
        while cursor.data[cursor.at : cursor.at + 1] not in (b"\0", b""):
            found.append(kind.read(cursor))
        cursor.take(1)
        return tuple(found)

    return Kind(write, read)


def together(*kinds: Kind) -> Kind:
    """Return the kind of a tuple of these."""

    def write(values: Sequence[Any]) -> bytes:
        return b"".join(kind.write(value) for kind, value in zip(kinds, values, strict=True))

    return Kind(write, lambda cursor: tuple(kind.read(cursor) for kind in kinds))


INT16 = _packed("!h")
UINT16 = _packed("!H")
INT32 = _packed("!i")
UINT32 = _packed("!I")
BYTE = _packed("!B")
TEXT = Kind(_write_text, _read_text)
VALUE = Kind(_write_value, _read_value)
LETTER = Kind(lambda value: value.encode("ascii"), lambda cursor: cursor.take(1).decode("latin-1"))
REST = Kind(lambda value: value, Cursor.rest)
