"""Plots of a file of results, made by a Python that has matplotlib."""

import subprocess
from pathlib import Path

DRAWING = Path(__file__).with_name("drawing.py")
PATIENCE_SECONDS = 120


def plot(results: Path, python: Path, drawing: Path = DRAWING) -> None:
    """Draw PNG files beside the results."""
    command = [str(python), str(drawing), str(results)]
    subprocess.run(command, check=True, timeout=PATIENCE_SECONDS)  # noqa: S603  (our own)
