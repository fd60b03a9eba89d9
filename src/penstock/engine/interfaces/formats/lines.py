"""Text files as runs of lines: where to cut them, and the lines between two cuts."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.interfaces.formats.listing import DataFile
from penstock.engine.interfaces.rejects import Reject, rejects_of

CHUNK = 1 << 20
HEAD = 1 << 14  # holds nearly every first line
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Known by their names, as Spark knows them; they cannot be entered in the middle.
COMPRESSED_ENDS = (".gz", ".bz2", ".zst", ".lz4")


def is_compressed(path: DataFile) -> bool:
    """Say whether the file's bytes are not its text."""
    return path.name.endswith(COMPRESSED_ENDS)


def after_lines(path: DataFile, start: int, size: int, lines: int) -> int:
    """Return the place after so many lines from `start`, at most `size`."""
    with path.open("rb") as file:
        file.seek(start)
        place = start
        while place < size and (chunk := file.read(min(CHUNK, size - place))):
            here = chunk.count(b"\n")
            if here >= lines:
                return place + _after_newlines(chunk, lines)
            lines -= here
            place += len(chunk)
    return size


def after_bytes(path: DataFile, start: int, size: int, limit: int) -> int:
    """Return the end of the line that lies `limit` bytes from `start`, at most `size`."""
    if start + limit >= size:
        return size
    return after_lines(path, start + limit, size, 1)


def first_line(path: DataFile) -> bytes:
    """Return the first line without its end."""
    with _text_of(path) as file:
        head = b""
        while b"\n" not in head and (chunk := file.read(HEAD)):
            head += chunk
    return head.split(b"\n", 1)[0].removeprefix(BYTE_ORDER_MARK).removesuffix(b"\r")


def content(path: DataFile, first: int, last: int | None) -> bytes:
    """Return the text from one place to another; OSError where it is not there (any more)."""
    if is_compressed(path):
        with _text_of(path) as file:
            return bytes(file.read())
    with path.open("rb") as file:
        file.seek(first)
        data = file.read(-1 if last is None else last - first)
    if last is not None and len(data) < last - first:
        raise OSError(f"the file holds less than the {last} bytes it had when it was offered")
    return data


def _text_of(path: DataFile) -> Any:
    """Open a file whose bytes may be compressed, as its name says."""
    if isinstance(path, Path):
        return pa.input_stream(path, compression="detect")
    codec = pa.Codec.detect(path.name).name if is_compressed(path) else None
    return pa.input_stream(path.open("rb"), compression=codec)


def split(data: bytes) -> pa.Array:
    """Return the lines of a text, without what ends them."""
    return pc.split_pattern(pa.array([data], pa.large_binary()), b"\n").flatten()


def texts(lines: pa.Array) -> tuple[pa.Array, pa.Table | None]:
    """Return the lines that hold anything, and those that are not UTF-8 as rejects."""
    try:
        return _not_blank(lines.cast(pa.large_string())), None
    except pa.ArrowInvalid:
        return _split_mixed(lines.to_pylist())


def _split_mixed(lines: list[bytes]) -> tuple[pa.Array, pa.Table | None]:
    good, bad = [], []
    for line in lines:
        try:
            good.append(line.decode())
        except UnicodeDecodeError:
            raw = line.decode(errors="replace")
            bad.append(Reject(raw, "the line is not UTF-8", kind="encoding"))
    return _not_blank(pa.array(good, pa.large_string())), rejects_of(bad)


def _not_blank(lines: pa.Array) -> pa.Array:
    lines = pc.utf8_rtrim(lines, "\r")
    return lines.filter(pc.not_equal(pc.utf8_trim_whitespace(lines), ""))


def _after_newlines(chunk: bytes, count: int) -> int:
    place = 0
    for _ in range(count):
        place = chunk.index(b"\n", place) + 1
    return place
