"""How records name the schema they were written with: a zero, four bytes of number, the rest."""

from typing import NamedTuple

MAGIC = 0
HEAD = 5
LONGEST_VARINT = 5
MOST_INDEXES = 64


class Framed(NamedTuple):
    """The number of a record's schema, and what comes behind it."""

    schema: int
    rest: bytes


def framed(value: bytes) -> Framed:
    """Return the parts of a record; ValueError where it names no schema."""
    if len(value) < HEAD or value[0] != MAGIC:
        raise ValueError("it does not begin with the number of a schema")
    return Framed(int.from_bytes(value[1:HEAD], "big"), value[HEAD:])


def message_path(rest: bytes) -> tuple[tuple[int, ...], bytes]:
    """Return which message of a Protobuf file comes, as places from outside in, and its bytes."""
    count, rest = _zigzag(rest)
    if count == 0:
        return (0,), rest
    if not 0 < count <= MOST_INDEXES:
        raise ValueError("it names no message of its schema")
    path = []
    for _ in range(count):
        place, rest = _zigzag(rest)
        path.append(place)
    return tuple(path), rest


def _zigzag(data: bytes) -> tuple[int, bytes]:
    number = 0
    for at, byte in enumerate(data[:LONGEST_VARINT]):
        number |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:  # noqa: PLR2004 - the last one has no top bit
            return (number >> 1) ^ -(number & 1), data[at + 1 :]
    raise ValueError("it ends before its message begins")
