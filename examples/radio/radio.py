"""From recorded-like signals to a spectrogram, by SQL and by Python.

    python examples/radio/radio.py OUT

makes signals below OUT, runs the flows of radio.sql and one that is put together here, and writes
OUT/spectrogram.png, OUT/circular.png, OUT/sites.json, and OUT/sites.png where matplotlib is
installed.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from drawing import site_bars, spectrogram
from signals import SIZE, WINDOWS, write

import penstock
from penstock.functions import fft3, pipe, polarize, window_split

SCRIPT = Path(__file__).with_name("radio.sql")
DATA = "examples/radio/data"  # as it stands in the script


def main(out: Path, windows: int = WINDOWS) -> None:
    """Make signals, let them flow, and draw what comes out."""
    data = out / "data"
    write(data, windows)
    with penstock.connect(str(out / "home"), begin=False, writable=[out]) as ps:
        ps.script(SCRIPT.read_text().replace(DATA, str(data)))
        # Every window in two halves, put together again; then the ellipse at each frequency.
        ps.run(pipe(window_split(2, fft3), polarize), over="radio", name="ellipses")
        ps.begin()
        ps.wait()
        spectra = np.array([row["x"] for row in ps.subscribe("spectrum")])
        circular = np.array([_circular(row) for row in ps.subscribe("ellipses")])
        strong = sum(1 for _ in ps.subscribe("strong"))
        sites = ps.sql("SHOW SITES").table.to_pylist()
        ps.sql(f"SHOW SITES INTO '{out / 'sites.json'}'")
        if find_spec("matplotlib"):
            ps.sql(f"SHOW SITES INTO '{out / 'sites.png'}'")
    assert spectra.shape == circular.shape == (windows, SIZE)  # noqa: S101 - nothing got lost
    spectrogram(spectra, out / "spectrogram.png")
    spectrogram(circular, out / "circular.png")
    print(site_bars(sites))
    print(f"{windows:,} windows, {strong:,} of them strong: {out / 'spectrogram.png'}")


def _circular(row: dict[str, object]) -> np.ndarray:
    """Return the small axis of the ellipse: large where a wave turns, none where it swings."""
    return np.sqrt(sum(np.asarray(row[f"minor_{axis}"]) ** 2 for axis in "xyz"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "radio-out"))
