"""The load: files of windows, each with three channels of complex samples as packed bytes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

CHANNELS = ("x", "y", "z")
SAMPLE = np.dtype(np.complex64)
START = 1_767_225_600_000_000  # 2026-01-01, in microseconds
SAMPLES_A_SECOND = 1_000_000  # of event time
GROUPS = 8  # of rows in a file, so that both cores find work in it
SKIPPED = 1  # files that warm everybody up

Matrix = npt.NDArray[np.complex64]


@dataclass(frozen=True, slots=True)
class Signals:
    """Files of so many samples a channel, cut into windows of a size."""

    path: Path
    size: int
    samples: int
    files: int
    seed: int = 0

    @property
    def windows(self) -> int:
        """Return the windows of a file."""
        return self.samples // self.size

    @property
    def window_bytes(self) -> int:
        """Return the bytes of a window, all channels."""
        return self.size * SAMPLE.itemsize * len(CHANNELS)

    def tables(self) -> Iterator[pa.Table]:
        """Return the files' rows, one after the other."""
        for each in sorted(self.path.glob("*.parquet")):
            yield pq.read_table(each)


def written(size: Signals, day: int, path: Path) -> Signals:
    """Write the files for a day; the same day is always the same signal."""
    made = Signals(path, size.size, size.samples, size.files, day)
    path.mkdir(parents=True)
    for number in range(made.files):
        table = _rows(made, number)
        # Noise does not shrink, and every side would pay for trying; a task takes row groups.
        place, group = path / f"part-{number:05d}.parquet", max(1, made.windows // GROUPS)
        pq.write_table(table, place, compression="none", row_group_size=group)
    return made


def _rows(signals: Signals, number: int) -> pa.Table:
    drawn = np.random.default_rng((signals.seed, number))
    first = number * signals.windows
    step = signals.size * 1_000_000 // SAMPLES_A_SECOND
    times = START + (first + np.arange(signals.windows)) * step
    columns = {name: packed(_noise(drawn, (signals.windows, signals.size))) for name in CHANNELS}
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), **columns})


def _noise(drawn: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    flat = drawn.standard_normal((shape[0], 2 * shape[1]), dtype=np.float32)
    return flat.view(np.complex64)


def packed(rows: Matrix) -> pa.Array:
    """Return the rows of an array as packed bytes."""
    width = rows.shape[1] * SAMPLE.itemsize
    block = pa.py_buffer(np.ascontiguousarray(rows))
    ends = pa.py_buffer(np.arange(len(rows) + 1, dtype=np.int32) * width)
    return pa.Array.from_buffers(pa.binary(), len(rows), [None, ends, block])


def unpacked(column: pa.ChunkedArray, size: int) -> Matrix:
    """Return packed bytes as the rows of an array."""
    whole = column.combine_chunks()
    whole = whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
    _, ends, block = whole.buffers()
    offsets = np.frombuffer(ends, np.int32)[whole.offset : whole.offset + len(whole) + 1]
    return np.frombuffer(block, np.uint8)[offsets[0] : offsets[-1]].view(SAMPLE).reshape(-1, size)
