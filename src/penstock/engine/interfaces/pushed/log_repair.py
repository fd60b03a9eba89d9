"""Faults of a push log, and mending them: what is lost becomes a gap, and all places stay.

The journal knows places of the log, so nothing may move: a gap has the bytes of what is lost, and
is cut where the journal has a place. What was there is kept beside the log.
"""

import itertools
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from penstock.engine.interfaces.pushed.log_frames import LEAST, gap, header_end, next_whole, walked
from penstock.engine.interfaces.pushed.push_log import BEGINNING, Place, segment_path, segments_of
from penstock.engine.sinks.whole_file import sync_directory, write_whole


@dataclass(frozen=True, slots=True)
class Fault:
    """Bytes of a segment that are not whole: lost, or torn off by a crash."""

    path: Path
    first: int
    last: int
    told: str
    torn: bool = False
    header: bytes | None = b""  # of the segment that is to be made anew, None where nobody knows it

    @property
    def can_be_mended(self) -> bool:
        """Say whether the log can go on without these bytes."""
        return self.header is not None


def faults(home: Path, places: Collection[Place]) -> list[Fault]:
    """Return what is not whole of a log of which the journal knows these places."""
    segments = segments_of(home)
    read = max(places, default=BEGINNING)
    found = [fault for start in segments for fault in _faults(home, start, segments, read)]
    header = _header(home, segments)
    wanted = {read[0]} if read[0] > max(segments, default=-1) else set[int]()
    if not places and segments and segments[0] > 0:
        wanted.add(0)
    wanted |= _absent(home, segments, read)
    for start in sorted(wanted):
        path = segment_path(home, start)
        last = max((byte for segment, byte in places if segment == start), default=0)
        begin = len(header) if header is not None else 0
        told = f"{path} is missing"
        found.append(Fault(path, begin, max(last, begin + LEAST), told, header=header))
    return found


def mend(fault: Fault, places: Collection[Place]) -> Path | None:
    """Put a gap in place of what is lost, or cut a torn tail; return where the old file is kept."""
    aside = _kept(fault.path)
    data = fault.path.read_bytes() if fault.path.exists() else fault.header or b""
    if fault.torn:
        write_whole(fault.path, data[: fault.first], sync=True)
        return aside
    segment = int(fault.path.stem)
    cuts = {byte for each, byte in places if each == segment and fault.first < byte < fault.last}
    edges = [fault.first, *sorted(cuts), fault.last]
    gaps = b"".join(gap(b - a) for a, b in itertools.pairwise(edges))
    write_whole(fault.path, data[: fault.first] + gaps + data[fault.last :], sync=True)
    return aside


def _faults(home: Path, start: int, segments: list[int], read: Place) -> list[Fault]:
    path = segment_path(home, start)
    data = memoryview(path.read_bytes())
    known = read[1] if read[0] == start else 0
    place = header_end(data)
    if place is None:
        if start == segments[-1] and not known and len(data) < LEAST:
            return [Fault(path, 0, len(data), f"{path} was never finished", torn=True)]
        return [Fault(path, 0, len(data), f"{path} is damaged at its beginning", header=None)]
    found = list[Fault]()
    while True:
        seen = walked(data, place)
        if seen.rest == "torn" and start == segments[-1] and seen.end >= known:
            told = f"the last {len(data) - seen.end:,} bytes of {path} were never finished"
            return [*found, Fault(path, seen.end, len(data), told, torn=True)]
        behind = next_whole(data, seen.end + LEAST - 1) if seen.rest != "nothing" else None
        last = max(len(data), known) if behind is None else behind
        if last > seen.end:
            told = f"{path} is damaged from byte {seen.end} to byte {last}"
            found.append(Fault(path, seen.end, max(last, seen.end + LEAST), told))
        if behind is None:
            return found
        place = behind


def _absent(home: Path, segments: list[int], read: Place) -> set[int]:
    """Return the segments between others that are missing, as far as tuples are counted."""
    found = set[int]()
    for start, after in itertools.pairwise(segments):
        data = memoryview(segment_path(home, start).read_bytes())
        head = header_end(data)
        if head is None or start < read[0]:
            continue
        seen = walked(data, head)
        if seen.rest == "nothing" and not seen.gaps and start + seen.rows < after:
            found.add(start + seen.rows)
    return found


def _header(home: Path, segments: list[int]) -> bytes | None:
    """Return the header that the log's segments have, from one where it is whole."""
    for start in segments:
        data = segment_path(home, start).read_bytes()
        if (end := header_end(memoryview(data))) is not None:
            return data[:end]
    return None


def _kept(path: Path) -> Path | None:
    """Copy a segment under a name of its own, and return that."""
    if not path.exists():
        return None
    taken = len(list(path.parent.glob(f"{path.name}.damaged-*")))
    aside = path.with_name(f"{path.name}.damaged-{taken + 1}")
    write_whole(aside, path.read_bytes(), sync=True)
    sync_directory(path.parent)
    return aside
