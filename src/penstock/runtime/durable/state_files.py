"""Files of checkpoints: on disk, with their checksums, before the journal names them."""

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from penstock.engine.sinks.whole_file import sync_directory, sync_file

Sums = Mapping[str, tuple[int, int]]  # a file's name: its size and its CRC-32
AT_ONCE = 8  # a disk puts many files down together faster than one after the other
BLOCK = 1 << 20


def put_on_disk(
    directory: Path,
    names: Collection[str],
    known: Sums,
    beside: Sequence[Callable[[], object]] = (),
) -> Sums:
    """Wait until files are on disk, and return their sums; those that are known lie there.

    Other waits for the disk go on `beside` that one, and are over when it is.
    """
    new = [name for name in names if name not in known]
    waits = list(beside)
    if new:
        waits.append(partial(sync_directory, directory))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        others = [pool.submit(wait) for wait in waits]
        sums = list(pool.map(lambda name: _settled(directory / name), new))
    for each in others:
        each.result()
    found = dict(zip(new, sums, strict=True))
    return {name: found.get(name) or known[name] for name in names}


def damaged(directory: Path, sums: Sums) -> list[Path]:
    """Return the files that are not there, or not as they were written."""
    paths = [directory / name for name in sums]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(sum_of, paths))
    return [path for path, one in zip(paths, found, strict=True) if one != tuple(sums[path.name])]


def _settled(path: Path) -> tuple[int, int]:
    sync_file(path)
    found = sum_of(path)
    if found is None:
        raise FileNotFoundError(path)
    return found


def sum_of(path: Path) -> tuple[int, int] | None:
    """Return a file's size and CRC-32, or None where it cannot be read."""
    size = check = 0
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                size, check = size + len(block), zlib.crc32(block, check)
    except OSError:
        return None
    return size, check
