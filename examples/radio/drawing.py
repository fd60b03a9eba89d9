"""Pictures: a spectrogram as a PNG file, and what the sites of a flow have done."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# Dark to bright, as in photographs of waterfalls: position, red, green, blue.
COLOURS = np.array(
    [
        (0.00, 0, 0, 10),
        (0.25, 60, 10, 100),
        (0.50, 180, 50, 90),
        (0.75, 250, 140, 40),
        (1.00, 252, 255, 200),
    ]
)
DARK, BRIGHT = 0.20, 0.999  # the quantiles of the power, in decibels, that get the end colours
LEVELS = 64  # of colour: more would only draw the noise
BINS = 2  # frequencies in a pixel, of which the strongest is seen


def spectrogram(spectra: npt.NDArray[Any], path: Path) -> None:
    """Write a picture: time from left to right, frequency from below (negative) to above."""
    power = np.fft.fftshift(np.abs(spectra) ** 2, axes=1)
    strongest = power.reshape(len(power), -1, BINS).max(axis=2)
    decibels = 10 * np.log10(strongest + 1e-12)
    dark, bright = np.quantile(decibels, [DARK, BRIGHT])
    share = np.clip((decibels - dark) / (bright - dark), 0, 1).T[::-1]
    write_png((share * (LEVELS - 1)).round().astype(np.uint8), path)


def write_png(levels: npt.NDArray[np.uint8], path: Path) -> None:
    """Write levels as pixels of a palette; Python has no writer of its own."""
    height, width = levels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    share = np.linspace(0, 1, LEVELS)
    palette = [np.interp(share, COLOURS[:, 0], COLOURS[:, n]) for n in (1, 2, 3)]
    lines = np.concatenate([np.zeros((height, 1), np.uint8), levels], axis=1)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", np.stack(palette, axis=1).astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def site_bars(sites: Sequence[Mapping[str, Any]], width: int = 40) -> str:
    """Return what each site did as bars of letters: p for processing, c for communication."""
    most = max((_busy(site) for site in sites), default=0.0) or 1.0
    lines = []
    for site in sites:
        processing, communication = (
            "pc"[n] * round(width * site[f"{name}_ms"] / most)
            for n, name in enumerate(("processing", "communication"))
        )
        lines.append(f"{_name(site):36} {_busy(site):8,.0f} ms {processing}{communication}")
    return "\n".join(lines)


def _name(site: Mapping[str, Any]) -> str:
    return f"{site['query']} {site['site']} {site['phase']} {site['function']}"


def _busy(site: Mapping[str, Any]) -> float:
    return float(site["processing_ms"] + site["communication_ms"])
