"""Signals as a receiver with three antennas would record them: tones, a chirp, whistlers, noise.

    python examples/radio/signals.py DIRECTORY [windows]

writes Parquet files of windows: a time, and a vector of complex samples for each antenna.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

RATE = 262_144  # samples a second
SIZE = 1_024  # samples a window
WINDOWS = 512  # two seconds
WINDOWS_A_FILE = 128
LOWEST, HIGHEST = 4_000, 100_000  # hertz of what is heard of a whistler
START = 1_767_225_600_000_000  # 2026-01-01, in microseconds

Samples = npt.NDArray[np.complex64]
Times = npt.NDArray[np.float64]

# How strong x, y and z see each of them; i is a quarter of a turn behind: a circular wave.
NEAR, FAR = np.array([1.0, 0.6, 0.1]), np.array([0.3, 0.3j, 0.8])
CIRCULAR = np.array([0.7, 0.7j, 0.0])


def signal(first: int, count: int) -> Samples:
    """Return samples from the number `first` on, a row for each antenna; always the same ones."""
    at = (first + np.arange(count)) / RATE
    waves = [
        (NEAR, 0.5 * _tone(at, 31_000)),
        (FAR, 0.4 * _tone(at, -52_500) * (np.sin(2 * np.pi * 3 * at) > 0)),  # keyed on and off
        (CIRCULAR, 0.6 * _chirp(at)),
        (NEAR, 1.2 * _whistler(at, 0.35)),
        (FAR, 1.0 * _whistler(at, 1.2)),
    ]
    received = sum(np.outer(antennas, wave) for antennas, wave in waves)
    drawn = np.random.default_rng((7, first))
    noise = drawn.standard_normal((3, count)) + 1j * drawn.standard_normal((3, count))
    return (received + 0.3 * noise).astype(np.complex64)


def table(first_window: int, count: int) -> pa.Table:
    """Return windows as rows: `ts`, and `x`, `y`, `z` as packed bytes."""
    numbers = first_window + np.arange(count)
    times = START + numbers * SIZE * 1_000_000 // RATE
    channels = signal(first_window * SIZE, count * SIZE).reshape(3, count, SIZE)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            **{
                name: pa.array([window.tobytes() for window in channel], pa.binary())
                for name, channel in zip("xyz", channels, strict=True)
            },
        }
    )


def write(directory: Path, windows: int = WINDOWS) -> None:
    """Write files of windows."""
    directory.mkdir(parents=True, exist_ok=True)
    for first in range(0, windows, WINDOWS_A_FILE):
        rows = table(first, min(WINDOWS_A_FILE, windows - first))
        pq.write_table(rows, directory / f"radio-{first:06d}.parquet")


def _tone(at: Times, hertz: float) -> npt.NDArray[np.complex128]:
    return np.exp(2j * np.pi * hertz * at)


def _chirp(at: Times) -> npt.NDArray[np.complex128]:
    """Rise from -110 to 110 kHz in two seconds, again and again."""
    low, slope = -110_000.0, 110_000.0
    within = at % 2.0
    return np.exp(2j * np.pi * (low * within + slope * within**2 / 2))


def _whistler(at: Times, begin: float) -> npt.NDArray[np.complex128]:
    """Fall as lightning does on its way along the Earth's field: late by 1 / sqrt(frequency)."""
    late = np.maximum(at - begin, 1e-9)
    dispersion = 45.0  # so that 20 kHz come a third of a second late
    hertz = (dispersion / late) ** 2
    phase = -2 * np.pi * dispersion**2 / late  # whose slope that is
    is_heard = (at > begin) & (hertz < HIGHEST) & (hertz > LOWEST)
    return np.exp(1j * phase) * is_heard


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else WINDOWS)  # noqa: PLR2004
