"""What a benchmark gives: lines of a table, and the figures behind them."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure. `full` takes the larger grid and more repetitions."""

    full: bool
    repetitions: int
    tiny: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """One scenario's table: what was asked of it, a row a line, and the raw figures."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    raw: Any = field(default_factory=dict)


def median(values: Iterable[float]) -> float:
    """Return the middle value."""
    return statistics.median(values)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of them stays below."""
    return float(np.quantile(values, share))


def spread(values: Sequence[float]) -> str:
    """Return the least and the greatest, for a reader who asks how far repetitions differ."""
    return f"{min(values):,.0f} to {max(values):,.0f}"
