"""Scenarios as data: which queries, how many, and over how much."""

from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.many.kinds import KINDS
from benchmarks.many.live import Phases
from benchmarks.many.load import Load

# From so many queries on, Structured Streaming is measured over fewer files, and with the store
# that has been the better one in every other benchmark only.
MANY = 100
TOO_MANY = 1_000  # queries that take Structured Streaming minutes to start


@dataclass(frozen=True, slots=True)
class Size:
    """How much a scenario gets to do.

    `check` is the load at which rows are compared first, `load` the one that is timed; `few` is
    what Structured Streaming gets with many queries, `long` what Flink gets, whose start has to
    be told from its run. A run may take `patience` seconds; one of Structured Streaming with too
    many queries is given up after `despair`.
    """

    check: Load
    load: Load
    few: Load
    long: Load
    patience: float
    despair: float
    phases: Phases

    def with_rows(self, rows: int) -> "Size":
        """Return the same with so many rows a batch."""
        timed = (replace(each, rows=rows) for each in (self.load, self.few, self.long))
        load, few, long = timed
        return replace(self, load=load, few=few, long=long)


@dataclass(frozen=True, slots=True)
class Scenario:
    """So many queries of a kind; what is measured is rows a second."""

    kind: str
    queries: int
    size: Size

    def __post_init__(self) -> None:
        assert self.kind in KINDS, f"no kind of queries: {self.kind}"

    @property
    def name(self) -> str:
        """Return what the table calls it."""
        return f"{self.queries:,} {self.kind}"


def _load(rows: int, batches: int, warm: int) -> Load:
    return Load(Path(), rows=rows, batches=batches, warm=warm)


TINY = Size(
    check=_load(200, 4, 1),
    load=_load(500, 4, 1),
    few=_load(500, 2, 1),
    long=_load(500, 7, 1),
    patience=600.0,
    despair=600.0,
    phases=Phases(warm=3, before=3, after=3, budget=60, added=2),
)
QUICK = Size(
    check=_load(1_000, 4, 1),
    load=_load(50_000, 10, 4),
    few=_load(50_000, 3, 1),
    long=_load(50_000, 40, 4),
    patience=300.0,
    despair=60.0,
    phases=Phases(warm=10, before=20, after=20, budget=120),
)
FULL = Size(
    check=_load(1_000, 4, 1),
    load=_load(100_000, 16, 4),
    few=_load(100_000, 4, 1),
    long=_load(100_000, 40, 4),
    patience=1_800.0,
    despair=1_800.0,
    phases=Phases(warm=20, before=30, after=30, budget=600),
)
QUICK_SET = (("mixed", 1), ("mixed", 100), ("thresholds", 1), ("thresholds", 1_000))
