"""Sides that take turns at the same case, each time on new files, after their rows agree."""

import functools
import itertools
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.cpu import sampling
from benchmarks.measurement import median, spread
from benchmarks.pace import Mark, Pace, pace
from benchmarks.session import STORES, collect_garbage

NOT_WORTH_REPEATING = 0.8  # of the other store's rate: the better one is the peer anyway
Said = list[pa.Table] | None  # where rows go, if they are wanted
Paces = dict[str, list[Pace]]
Files = TypeVar("Files")
Side = Callable[[Files, Path, Said], list[Mark]]


@dataclass(frozen=True, slots=True)
class Contest(Generic[Files]):
    """Runs sides on files that `write` makes for a day, below a directory.

    A side returns when its batches were done; `expected` is what it must have said, which
    `bag` puts into an order. The first `skipped_rows` rows do not count.
    """

    spark: SparkSession
    directory: Path
    write: Callable[[int, Path], Files]
    expected: Callable[[Files], pa.Table]
    bag: Callable[[pa.Table], pa.Table]
    skipped_rows: int
    days: "itertools.count[int]" = field(default_factory=itertools.count)

    def paces(self, sides: Mapping[str, Side[Files]], repeats: int) -> Paces:
        """Return each side's paces, one a repetition, the sides taking turns."""
        for side, run in sides.items():  # warms up, too
            self._on_new_files(functools.partial(self._check, side, run))
        found: Paces = defaultdict(list)
        for _ in range(repeats):
            for side, run in sides.items():
                if not is_beaten(side, found):
                    found[side].append(self._on_new_files(run))
        return dict(found)

    def _on_new_files(self, run: Side[Files]) -> Pace:
        place = self.directory / uuid4().hex
        files = self.write(next(self.days), place / "files")
        collect_garbage(self.spark)
        try:
            with sampling(self.spark) as usage:
                marks = run(files, place / "home", None)
            return pace(marks, self.skipped_rows, usage)
        finally:
            shutil.rmtree(place)

    def _check(self, side: str, run: Side[Files], files: Files, home: Path, _: Said) -> list[Mark]:
        """See that a side says what the batch query says."""
        said: list[pa.Table] = []
        marks = run(files, home, said)
        expected = self.bag(self.expected(files))
        assert self.bag(pa.concat_tables(said)).equals(expected), f"{side} gives other rows"
        return marks


def rate(paces: Sequence[Pace]) -> float:
    """Return the middle rate."""
    return median(each.rows_a_second for each in paces)


def cpu(paces: Sequence[Pace]) -> float:
    """Return the middle of the CPU seconds for a million rows."""
    return median(each.cpu_a_million for each in paces)


def better_store(paces: Paces) -> str | None:
    """Return the state store with which the peer did better, None where it has run with none."""
    stores = [store.name for store in STORES if paces.get(store.name)]
    return max(stores, key=lambda name: rate(paces[name]), default=None)


def is_beaten(side: str, found: Paces) -> bool:
    """Say whether a store has lost clearly in the first round."""
    stores = {store.name for store in STORES}
    if side not in stores or not all(found.get(store) for store in stores):
        return False
    return rate(found[side]) < NOT_WORTH_REPEATING * max(rate(found[store]) for store in stores)


def kept(paces: Paces) -> dict[str, list[dict[str, Any]]]:
    """Return paces for the file of results."""
    return {side: [asdict(each) for each in found] for side, found in paces.items()}


def spreads(paces: Paces) -> str:
    """Return how far each side's repetitions differ."""
    return "; ".join(
        f"{side} {spread([each.rows_a_second for each in found])}" for side, found in paces.items()
    )
