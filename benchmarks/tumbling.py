"""One tumbling aggregate over files: rows a second, Penstock against Structured Streaming.

From the end of one batch to the end of the last one, so that start-up counts for neither side.
Both let go of the same number of windows in between.
"""

import functools
import itertools
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.cpu import sampling
from benchmarks.measurement import Effort, Outcome, median, spread
from benchmarks.pace import Mark, Pace, pace
from benchmarks.penstock_side import run_penstock
from benchmarks.readings import Readings, write_readings
from benchmarks.session import STORES, Store, collect_garbage, streaming_session
from benchmarks.streaming_side import batch_totals, run_streaming

COLUMNS = (
    "format",
    "rows a batch",
    "keys",
    "Penstock, one file a run (rows/s)",
    "Penstock, coalescing (rows/s)",
    "peer (rows/s)",
    "peer's store",
    "ratio, one file a run",
    "ratio, coalescing",
    "CPU ratio, one file a run",
    "CPU ratio, coalescing",
)
NOT_WORTH_REPEATING = 0.8  # of the other store's rate: the better one is the peer anyway
ONE_FILE, COALESCING = "Penstock, one file a run", "Penstock, coalescing"


@dataclass(frozen=True, slots=True)
class Case:
    """One size; `batches` is odd, so that the last one closes a window."""

    format: str
    rows: int
    keys: int
    batches: int


TINY = (Case("parquet", 2_000, 10, 9),)
QUICK = (
    Case("parquet", 20_000, 100, 31),
    Case("parquet", 200_000, 100, 25),
    Case("parquet", 200_000, 10_000, 25),
    Case("parquet", 500_000, 100_000, 19),
)
ALL = (
    Case("parquet", 20_000, 100, 41),
    Case("parquet", 20_000, 10_000, 41),
    Case("parquet", 200_000, 100, 31),
    Case("parquet", 200_000, 10_000, 31),
    Case("parquet", 200_000, 100_000, 31),
    Case("parquet", 500_000, 100, 25),
    Case("parquet", 500_000, 10_000, 25),
    Case("parquet", 500_000, 100_000, 25),
)
JSON = (Case("json", 20_000, 100, 31), Case("json", 200_000, 10_000, 25))


def tumbling(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure Parquet files of several sizes."""
    cases = TINY if effort.tiny else ALL if effort.full else QUICK
    title = "Tumbling aggregate (10 s; sum, count, avg by key) over Parquet files"
    return _measure("tumbling", title, cases, (spark, directory, effort))


def tumbling_json(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure the same over JSON files, for information."""
    cases = (Case("json", 2_000, 10, 9),) if effort.tiny else JSON if effort.full else JSON[1:]
    title = "The same aggregate over JSON files (for information)"
    return _measure("tumbling_json", title, cases, (spark, directory, effort))


Surroundings = tuple[SparkSession, Path, Effort]
Side = Callable[[Readings, Path, list[pa.Table] | None], list[Mark]]  # rows go into the list


def _measure(name: str, title: str, cases: Sequence[Case], around: Surroundings) -> Outcome:
    rows, raw = [], []
    for case in cases:
        rates = _Bench(case, around).paces()
        rows.append(_line(case, rates))
        raw.append(
            {"case": asdict(case), "paces": {s: list(map(asdict, p)) for s, p in rates.items()}}
        )
        print("  " + " | ".join(rows[-1]), flush=True)
    return Outcome(name, title, COLUMNS, rows, _notes(raw), raw)


def _line(case: Case, paces: dict[str, list[Pace]]) -> list[str]:
    middle = {side: _rate(each) for side, each in paces.items()}
    cpu = {side: median(each.cpu_a_million for each in all_) for side, all_ in paces.items()}
    store = max((each.name for each in STORES), key=lambda side: middle[side])
    peer = middle[store]
    return [
        case.format,
        f"{case.rows:,}",
        f"{case.keys:,}",
        f"{middle[ONE_FILE]:,.0f}",
        f"{middle[COALESCING]:,.0f}",
        f"{peer:,.0f}",
        store,
        f"{middle[ONE_FILE] / peer:.2f}x",
        f"{middle[COALESCING] / peer:.2f}x",
        f"{cpu[store] / cpu[ONE_FILE]:.2f}x",
        f"{cpu[store] / cpu[COALESCING]:.2f}x",
    ]


def _rate(paces: Sequence[Pace]) -> float:
    return median(each.rows_a_second for each in paces)


def _notes(raw: Sequence[dict[str, Any]]) -> list[str]:
    notes = [
        "Medians; results were compared with the batch query before anything was timed.",
        "CPU ratio: the peer's CPU time a row over Penstock's; a busy machine disturbs it less.",
    ]
    for each in raw:
        case = each["case"]
        shown = "; ".join(
            f"{side} {spread([each['rows_a_second'] for each in paces])}"
            for side, paces in each["paces"].items()
        )
        notes.append(f"{case['format']} {case['rows']:,} × {case['keys']:,} keys: {shown}")
    return notes


class _Bench:
    """One case, and the sides that take turns at it, each time on files of another day."""

    def __init__(self, case: Case, around: Surroundings) -> None:
        self._spark, directory, self._effort = around
        self._directory = directory / uuid4().hex
        self._days = itertools.count()
        self._case = Readings(
            self._directory, case.format, rows=case.rows, keys=case.keys, batches=case.batches
        )

    def paces(self) -> dict[str, list[Pace]]:
        """Return each side's paces, one a repetition, the sides taking turns."""
        sides: dict[str, Side] = {
            ONE_FILE: functools.partial(self._penstock, coalesce=False),
            **{store.name: functools.partial(self._streaming, store) for store in STORES},
            COALESCING: functools.partial(self._penstock, coalesce=True),
        }
        for side, run in sides.items():  # warms up, too
            self._on_new_files(functools.partial(self._check, side, run))
        found: dict[str, list[Pace]] = defaultdict(list)
        for _ in range(self._effort.repetitions):
            for side, run in sides.items():
                if not _is_beaten(side, found):
                    found[side].append(self._on_new_files(run))
        return dict(found)

    def _on_new_files(self, run: Side) -> Pace:
        readings = self._case.on_day(next(self._days), self._directory / "readings")
        write_readings(readings)
        collect_garbage(self._spark)
        try:
            with sampling(self._spark) as usage:
                marks = run(readings, self._directory / "home", None)
            return pace(marks, readings.skipped * readings.rows, usage)
        finally:
            shutil.rmtree(self._directory)

    def _check(self, side: str, run: Side, readings: Readings, home: Path, _: object) -> list[Mark]:
        """See that a side says what the batch query says."""
        said: list[pa.Table] = []
        marks = run(readings, home, said)
        expected = _bag(batch_totals(self._spark, readings))
        assert _bag(pa.concat_tables(said)).equals(expected), f"{side} gives other rows"
        return marks

    def _penstock(
        self, readings: Readings, home: Path, said: list[pa.Table] | None, *, coalesce: bool
    ) -> list[Mark]:
        def take(rows: pa.Table) -> None:
            if said is not None:
                said.append(rows)

        return run_penstock(self._spark, home, readings, take, coalesce=coalesce)

    def _streaming(
        self, store: Store, readings: Readings, home: Path, said: list[pa.Table] | None
    ) -> list[Mark]:
        session = streaming_session(self._spark, store)
        if said is None:
            return run_streaming(session, readings, home)
        name = f"totals_{uuid4().hex}"
        marks = run_streaming(session, readings, home, name)
        said.append(session.table(name).toArrow())
        session.catalog.dropTempView(name)
        return marks


def _is_beaten(side: str, found: dict[str, list[Pace]]) -> bool:
    """Say whether a store has lost clearly in the first round."""
    stores = {store.name for store in STORES}
    if side not in stores or not all(found.get(store) for store in stores):
        return False
    return _rate(found[side]) < NOT_WORTH_REPEATING * max(_rate(found[s]) for s in stores)


def _bag(table: pa.Table) -> pa.Table:
    """Return the rows in an order of their own, in the types that both sides share."""
    table = table.select(["window_start", "k", "total", "n", "mean"])
    return (
        table.cast(
            pa.schema(
                [
                    ("window_start", pa.timestamp("us", "UTC")),
                    ("k", pa.string()),
                    ("total", pa.float64()),
                    ("n", pa.int64()),
                    ("mean", pa.float64()),
                ]
            )
        )
        .sort_by([("window_start", "ascending"), ("k", "ascending")])
        .combine_chunks()
    )
