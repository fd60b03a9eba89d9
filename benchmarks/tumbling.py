"""One tumbling aggregate over files: rows a second, Penstock against Structured Streaming.

From the end of one batch to the end of the last one, so that start-up counts for neither side.
Both let go of the same number of windows in between.
"""

import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.measurement import Effort, Outcome, median, spread
from benchmarks.pace import Mark, rows_a_second
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


def _measure(name: str, title: str, cases: Sequence[Case], around: Surroundings) -> Outcome:
    rows, raw = [], []
    for case in cases:
        rates = _Bench(case, around).rates()
        rows.append(_line(case, rates))
        raw.append({"case": asdict(case), "rows_a_second": rates})
        print("  " + " | ".join(rows[-1]), flush=True)
    return Outcome(name, title, COLUMNS, rows, _notes(raw), raw)


def _line(case: Case, rates: dict[str, list[float]]) -> list[str]:
    middle = {side: median(each) for side, each in rates.items()}
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
    ]


def _notes(raw: Sequence[dict[str, Any]]) -> list[str]:
    notes = ["Medians; results were compared with the batch query before anything was timed."]
    for each in raw:
        case = each["case"]
        shown = "; ".join(
            f"{side} {spread(rates)}" for side, rates in each["rows_a_second"].items()
        )
        notes.append(f"{case['format']} {case['rows']:,} × {case['keys']:,} keys: {shown}")
    return notes


class _Bench:
    """One case: its files, and the sides that take turns on them."""

    def __init__(self, case: Case, around: Surroundings) -> None:
        self._spark, directory, self._effort = around
        self._directory = directory / uuid4().hex
        self._readings = Readings(
            self._directory / "readings", case.format, case.rows, case.keys, case.batches
        )

    def rates(self) -> dict[str, list[float]]:
        """Return each side's rates, one a repetition, the sides taking turns."""
        write_readings(self._readings)
        self._compare()
        sides: dict[str, Callable[[], list[Mark]]] = {
            ONE_FILE: lambda: self._penstock(coalesce=False),
            **{store.name: lambda store=store: self._streaming(store) for store in STORES},
            COALESCING: lambda: self._penstock(coalesce=True),
        }
        skipped = self._readings.skipped * self._readings.rows
        found: dict[str, list[float]] = defaultdict(list)
        for _ in range(self._effort.repetitions):
            for side, run in sides.items():
                if _is_beaten(side, found):
                    continue
                collect_garbage(self._spark)
                found[side].append(rows_a_second(run(), skipped))
        shutil.rmtree(self._directory)
        return dict(found)

    def _compare(self) -> None:
        """Warm both sides up, and see that they say the same."""
        expected = _bag(batch_totals(self._spark, self._readings))
        for coalesce in (False, True):
            said: list[pa.Table] = []
            self._penstock(said, coalesce=coalesce)
            assert _bag(pa.concat_tables(said)).equals(expected), "Penstock's rows differ"
        for store in STORES:
            session = streaming_session(self._spark, store)
            name = f"totals_{uuid4().hex}"
            run_streaming(session, self._readings, self._fresh(), name)
            # The memory sink keeps its rows in the query's own session, which this one shares.
            assert _bag(session.table(name).toArrow()).equals(expected), "the peer's rows differ"
            session.catalog.dropTempView(name)

    def _penstock(self, said: list[pa.Table] | None = None, *, coalesce: bool) -> list[Mark]:
        def take(rows: pa.Table) -> None:
            if said is not None:
                said.append(rows)

        home = self._fresh()
        marks = run_penstock(self._spark, home, self._readings, take, coalesce=coalesce)
        shutil.rmtree(home)
        return marks

    def _streaming(self, store: Store) -> list[Mark]:
        checkpoint = self._fresh()
        session = streaming_session(self._spark, store)
        marks = run_streaming(session, self._readings, checkpoint)
        shutil.rmtree(checkpoint)
        return marks

    def _fresh(self) -> Path:
        return self._directory / uuid4().hex


def _is_beaten(side: str, found: dict[str, list[float]]) -> bool:
    """Say whether a store has lost clearly in the first round."""
    stores = {store.name for store in STORES}
    if side not in stores or not all(found.get(store) for store in stores):
        return False
    return median(found[side]) < NOT_WORTH_REPEATING * max(median(found[s]) for s in stores)


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
