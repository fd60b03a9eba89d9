"""CSV records that reach over line ends, since a line break stands inside quotes (RFC 4180).

A field is quoted where its first character is a quote; it ends at a quote before a delimiter, a
line end or the end of the text, and two quotes inside it are one. Quotes that never end so hold
nothing together: the line that they are in is wrong by itself, and the next one is a record again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.interfaces.formats.lines import split
from penstock.engine.interfaces.rejects import Reject

LINE_BREAK = "there is a line break inside quotes, and multiline is not true"
NEVER_END = "the quotes that begin a field never end"
QUOTE = b'"'
NEWLINE = b"\n"
# A quote that is opened by mistake is looked for no further; records of many lines are shorter.
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class QuotedLines:
    """Lines `first` to `last` are one record, or one line whose quotes never end."""

    first: int
    last: int
    ends: bool


def records(data: bytes, delimiter: str, *, multiline: bool) -> tuple[pa.Array, list[Reject]]:
    """Return the records of a text, and those that cannot be read.

    Where records may not be `multiline`, one that is becomes a single reject: never half a row.
    """
    lines = split(data)
    found = runs(lines, data, delimiter)
    if not found:
        return lines, []
    kept, wrong, done, texts = list[bytes](), list[Reject](), 0, lines.to_pylist()
    for run in found:
        kept += texts[done : run.first]
        whole, done = NEWLINE.join(texts[run.first : run.last + 1]), run.last + 1
        if not run.ends:
            wrong.append(Reject(_shown(whole), NEVER_END, kind="syntax"))
        elif multiline:
            kept.append(whole)
        else:
            wrong.append(Reject(_shown(whole), LINE_BREAK, kind="line break"))
    return pa.array(kept + texts[done:], pa.large_binary()), wrong


def runs(lines: pa.Array, data: bytes, delimiter: str) -> list[QuotedLines]:
    """Return the records of more than one line, and the lines whose quotes never end."""
    return list(_walk(lines, data, delimiter)) if QUOTE in data else []


def after_record(data: bytes, place: int, delimiter: str) -> int:
    """Return the end of the record that a line end at this place lies in, or the place itself.

    What lies up to MOST_BYTES behind the place has to be there.
    """
    lines = split(data)
    ends = np.cumsum(pc.binary_length(lines).to_numpy(zero_copy_only=False) + 1)
    for run in runs(lines, data, delimiter):
        if run.ends and run.first < np.searchsorted(ends, place, "right") <= run.last:
            return min(int(ends[run.last]), len(data))
    return place


def _walk(lines: pa.Array, data: bytes, delimiter: str) -> Iterator[QuotedLines]:
    odd = np.flatnonzero(np.asarray(_is_odd(lines, delimiter)))
    if not len(odd):
        return
    lengths = pc.binary_length(lines).to_numpy(zero_copy_only=False)
    starts = np.concatenate(([0], np.cumsum(lengths + 1)))
    done = 0
    for line in odd.tolist():
        if line < done:
            continue
        end = record_end(data, int(starts[line]), delimiter)
        last = line if end is None else int(np.searchsorted(starts, end, "right")) - 1
        done = last + 1
        if end is None or last > line:
            yield QuotedLines(line, last, end is not None)


def _is_odd(lines: pa.Array, delimiter: str) -> pa.Array:
    """Say of each line whether its quotes are not those of whole fields."""
    sep = re.escape(delimiter)
    field = f'(?:"(?:[^"]|"")*"|[^"{sep}]*)'
    return pc.invert(pc.match_substring_regex(lines, f"^{field}(?:{sep}{field})*\\r?$"))


def fields(record: str, delimiter: str) -> list[str]:
    """Return the fields of one record as they are written, with their quotes."""
    data = record.encode()
    spans = list(_spans(data, 0, delimiter))
    return [data[first : len(data) if last is None else last].decode() for first, last in spans]


def record_end(data: bytes, place: int, delimiter: str) -> int | None:
    """Return where the record that begins at a place ends, or None where its quotes never do."""
    *_, (_, end) = _spans(data, place, delimiter)
    return end


def _spans(data: bytes, place: int, delimiter: str) -> Iterator[tuple[int, int | None]]:
    """Yield where the fields of a record begin and end; one whose quotes never end is the last."""
    quoted, plain = _patterns(delimiter)
    size, step = len(data), len(delimiter.encode())
    while True:
        first = place
        if data[place : place + 1] == QUOTE:
            found = quoted.match(data, place, min(size, place + MOST_BYTES))
            if found is None:
                yield first, None
                return
            place = found.end()
        rest = plain.match(data, place)
        place = rest.end() if rest else place
        yield first, place
        if place >= size or data[place : place + 1] == NEWLINE:
            return
        place += step


def _shown(record: bytes) -> str:
    return record.decode(errors="replace").rstrip("\r")


@cache
def _patterns(delimiter: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    sep = re.escape(delimiter).encode()
    quoted = b'"[^"]*+(?:""[^"]*+)*+"(?=' + sep + rb"|\r?\n|\r?\Z)"
    return re.compile(quoted), re.compile(b"(?:(?!" + sep + rb")[^\n])*+")
