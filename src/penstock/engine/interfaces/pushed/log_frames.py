"""Frames of a push log as bytes: packed, walked, and judged where one is not whole.

frame    = length (4), CRC-32 of the body (4), body
record   = arrival, seconds since 1970 (8), tuples (4), Arrow IPC batch; END tuples: the stream ends

The five highest bits of the tuples' number are their depth: how many rules, one after the other,
led to them. A record of no tuples is a gap: what was lost there was given up by a repair.

A process that dies while it appends leaves the beginning of what it wrote, and nothing behind that:
only this is a torn tail. Whatever else does not read is damage, since it was whole once.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

MAGIC = b"PENSTOCK-PUSH-1\n"
FRAME = struct.Struct("<II")
RECORD = struct.Struct("<dI")
END = 2**32 - 1
DEPTH_SHIFT = 27
MOST_ROWS = 1 << DEPTH_SHIFT  # of one record
LEAST = FRAME.size + RECORD.size  # bytes of a frame
BATCH = b"\xff\xff\xff\xff"  # what an Arrow IPC message begins with
LOOK_BYTES = 1 << 20  # searched at once for a frame: the search takes some bytes for each

Rest = Literal["nothing", "torn", "damaged"]


@dataclass(frozen=True, slots=True)
class Walked:
    """The whole frames of a segment: their tuples, where each begins, and what is behind them."""

    rows: int
    ended: bool
    gaps: bool
    places: tuple[int, ...]  # where frames begin and, last, where the whole ones end
    rest: Rest

    @property
    def end(self) -> int:
        """Return where the whole frames end."""
        return self.places[-1]


def walked(data: memoryview, start: int) -> Walked:
    """Walk a segment's frames from a place on, and judge what is behind the last whole one."""
    rows, ended, gaps, places = 0, False, False, [start]
    while (body := whole_body(data, places[-1])) is not None:
        count = RECORD.unpack_from(body)[1]
        ended = count == END
        rows += 0 if ended else count % MOST_ROWS
        gaps = gaps or not count
        places.append(places[-1] + FRAME.size + len(body))
    return Walked(rows, ended, gaps, tuple(places), _rest(data, places[-1]))


def whole_body(data: memoryview, place: int) -> memoryview | None:
    """Return the whole body of the frame at a place, or None where there is none."""
    if place + LEAST > len(data):
        return None
    length, check = FRAME.unpack_from(data, place)
    body = data[place + FRAME.size : place + FRAME.size + length]
    whole = len(body) == length and length >= RECORD.size
    return body if whole and zlib.crc32(body) == check else None


def next_whole(data: memoryview, place: int, look_bytes: int = LOOK_BYTES) -> int | None:
    """Return where the first whole frame behind a place begins, wherever that is."""
    for start in range(place + 1, len(data) - LEAST + 1, look_bytes):
        for found in _likely(data, start, look_bytes):
            if whole_body(data, found) is not None:
                return found
    return None


def header_end(data: memoryview) -> int | None:
    """Return where a segment's header ends, or None where that is not whole."""
    place = len(MAGIC)
    if bytes(data[:place]) != MAGIC or place + FRAME.size > len(data):
        return None
    length, check = FRAME.unpack_from(data, place)
    body = data[place + FRAME.size : place + FRAME.size + length]
    whole = len(body) == length and zlib.crc32(body) == check
    return place + FRAME.size + length if whole else None


def framed(body: bytes) -> bytes:
    """Return the body with its length and its check."""
    return FRAME.pack(len(body), zlib.crc32(body)) + body


def frame_of(head: bytes, body: memoryview) -> bytes:
    """Return the length and the check of a body that lies in two pieces."""
    return FRAME.pack(len(head) + len(body), zlib.crc32(body, zlib.crc32(head)))


def gap(size: int) -> bytes:
    """Return a frame of so many bytes that has no tuples, in place of what is lost.

    Places behind it stay as they are: the journal has them.
    """
    filler = BATCH.ljust(size - LEAST, b"\0") if size - LEAST >= len(BATCH) else b""
    return framed(RECORD.pack(0.0, 0) + filler.ljust(size - LEAST, b"\0"))


def _rest(data: memoryview, place: int) -> Rest:
    left = len(data) - place
    if not left:
        return "nothing"
    if not np.frombuffer(data, np.uint8, offset=place).any():
        return "torn"  # room that a file system gave and a power cut left empty
    if left < FRAME.size:
        return "torn"
    length, check = FRAME.unpack_from(data, place)
    reaches_beyond = length > left - FRAME.size
    # The last frame with a wrong length is whole by its check.
    is_whole = zlib.crc32(data[place + FRAME.size :]) == check
    if not reaches_beyond or is_whole or next_whole(data, place) is not None:
        return "damaged"
    return "torn"


def _likely(data: memoryview, start: int, look_bytes: int) -> Iterator[int]:
    """Return the places from `start` on, of so many as are searched at once, that may be frames."""
    count = min(look_bytes, len(data) - LEAST + 1 - start)
    lengths = np.ndarray((count,), "<u4", data, start, (1,))  # at every byte
    ends = np.arange(start + FRAME.size, start + FRAME.size + count) + lengths
    bare = (lengths >= RECORD.size) & (lengths < RECORD.size + len(BATCH))  # without a batch
    begins = np.zeros(count, bool)
    room = max(0, min(count, len(data) - len(BATCH) - LEAST + 1 - start))
    if room:
        begins[:room] = np.ndarray((room,), "<u4", data, start + LEAST, (1,)) == END
    fits = (ends <= len(data)) & (bare | (begins & (lengths > RECORD.size)))
    yield from (start + int(at) for at in np.flatnonzero(fits))
