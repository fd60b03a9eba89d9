"""Scenarios as data: what is run, how much of it, and what is measured."""

from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.many.kinds import KINDS
from benchmarks.many.live import Phases
from benchmarks.many.load import Load

MANY = 100  # from so many queries on, Structured Streaming is measured over fewer files


@dataclass(frozen=True, slots=True)
class Scenario:
    """One measurement of a set of queries: rows a second.

    `check` is the load at which rows are compared first, `load` the one that is timed; `few` is
    what Structured Streaming gets of it with many queries. A run may take `patience` seconds.
    """

    kind: str
    queries: int
    load: Load
    check: Load
    few: Load
    patience: float = 600.0

    def __post_init__(self) -> None:
        assert self.kind in KINDS, f"no kind of queries: {self.kind}"

    @property
    def name(self) -> str:
        """Return what the table calls it."""
        return f"{self.queries:,} {self.kind}"


@dataclass(frozen=True, slots=True)
class Size:
    """How much a scenario gets to do."""

    load: Load
    check: Load
    few: Load
    patience: float
    phases: Phases

    def scenario(self, kind: str, queries: int) -> Scenario:
        """Return a scenario of this size."""
        return Scenario(kind, queries, self.load, self.check, self.few, self.patience)

    def with_rows(self, rows: int) -> "Size":
        """Return the same with so many rows a batch."""
        return replace(self, load=replace(self.load, rows=rows), few=replace(self.few, rows=rows))


CHECK = Load(Path(), rows=1_000, batches=4, warm=1)
TINY = Size(
    Load(Path(), rows=500, batches=4, warm=1),
    Load(Path(), rows=200, batches=4, warm=1),
    Load(Path(), rows=500, batches=2, warm=1),
    120.0,
    Phases(warm=3, before=3, after=3, budget=60, added=2),
)
QUICK = Size(
    Load(Path(), rows=50_000, batches=10, warm=4),
    CHECK,
    Load(Path(), rows=50_000, batches=3, warm=1),
    300.0,
    Phases(warm=10, before=20, after=20, budget=120),
)
FULL = Size(
    Load(Path(), rows=100_000, batches=16, warm=4),
    CHECK,
    Load(Path(), rows=100_000, batches=4, warm=1),
    1_800.0,
    Phases(warm=20, before=30, after=30, budget=600),
)
