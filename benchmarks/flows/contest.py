"""Sides that take turns over the same windows, after their spectra agree."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.contest import Contest, Paces, Said, Side
from benchmarks.flows.signals import CHANNELS, SKIPPED, Signals, unpacked, written
from benchmarks.pace import Mark

CLOSE = 1e-4  # of the largest element: what single precision leaves after other orders of adding


@dataclass(frozen=True, slots=True)
class SpectraContest(Contest[Signals]):
    """Compares spectra to a precision, and lets sides that only carry say anything."""

    untouched: frozenset[str] = frozenset()

    def _check(
        self, side: str, run: Side[Signals], files: Signals, home: Path, _: Said
    ) -> list[Mark]:
        said: list[pa.Table] = []
        marks = run(files, home, said)
        found = pa.concat_tables(said).sort_by("ts")
        wanted = pa.concat_tables(files.tables())
        assert found["ts"].equals(wanted["ts"]), f"{side} gives other windows"
        for name in CHANNELS:
            right = unpacked(wanted[name], files.size)
            right = right if side in self.untouched else np.fft.fft(right)
            off = np.abs(unpacked(found[name], files.size) - right).max() / np.abs(right).max()
            assert off < CLOSE, f"{side} gives other spectra: off by {off:.2g}"
        return marks


def paces(
    spark: SparkSession,
    directory: Path,
    size: Signals,
    sides: Mapping[str, Side[Signals]],
    repetitions: int,
) -> Paces:
    """Return each side's paces, one a repetition, the sides taking turns."""
    contest = SpectraContest(
        spark=spark,
        directory=directory,
        write=functools.partial(written, size),
        expected=lambda _: pa.table({}),
        bag=lambda table: table,
        skipped_rows=SKIPPED * size.windows,
        untouched=frozenset(name for name in sides if name.startswith("carried")),
    )
    return contest.paces(sides, repetitions)
