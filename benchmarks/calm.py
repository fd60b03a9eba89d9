"""What a calm system costs: many small queries over a slow stream, in cores of the machine.

40 sliding aggregates of 2 to 8 s every 1 or 2 s, 8 filters and a join, over 1,000 tuples a second.
Each way of running them is measured in the same process, one after the other: as it is, and with
Spark asked for everything (`driver_rows => 0`).
"""

import os
import shutil
import time
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

import penstock
from benchmarks.cpu import sampling
from benchmarks.measurement import Effort, Outcome, median
from benchmarks.session import collect_garbage
from penstock.client import Connection
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits

RATE = 1000
COLUMNS = ("answered by", "cores", "median p50 of latency", "median p50 of delay", "rows out")
STREAMS = f"""
    CREATE STREAM readings (ts TIMESTAMP, k INT, v DOUBLE) TIMESTAMP BY ts
      FROM generator(rate => {RATE}, k => CAST(u1 * 20 AS INT), v => u2 * 100);
    CREATE STREAM orders (ts TIMESTAMP, k INT, w DOUBLE) TIMESTAMP BY ts
      FROM generator(rate => 20, seed => 1, k => CAST(u1 * 20 AS INT), w => u2);
"""


def calm(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure both ways."""
    warm, measured = (4.0, 4.0) if effort.tiny else (60.0, 60.0)
    ways = {"Arrow where it can": Settings(), "Spark": Settings(limits=RunLimits(driver_rows=0))}
    rows, raw = [], []
    for way, settings in ways.items():
        collect_garbage(spark)
        home = directory / uuid4().hex
        with penstock.connect(home, spark=spark, settings=settings) as ps, sampling(spark) as usage:
            ps.script(STREAMS + _queries())
            time.sleep(warm)
            before, began = _rows_out(ps), time.time()
            time.sleep(measured)
            cores = usage.between(began, time.time()) / (time.time() - began)
            figures = ps.sql("SHOW QUERIES").table.to_pylist()
        shutil.rmtree(home, ignore_errors=True)
        p50, delay = (median(each[name] or 0.0 for each in figures) for name in FIGURES)
        out = sum(each["rows_out"] for each in figures) - before
        assert out > 0
        rows.append([way, f"{cores:.2f}", f"{p50:.0f} ms", f"{delay:.0f} ms", f"{out:,}"])
        raw.append({"way": way, "cores": cores, "queries": figures})
        print("  " + " | ".join(rows[-1]), flush=True)
    title = f"A calm system: 49 queries over {RATE:,} tuples a second, {os.cpu_count()} cores"
    return Outcome("calm", title, COLUMNS, rows, (), raw)


FIGURES = ("p50_ms", "delay_p50_ms")


def _rows_out(ps: Connection) -> int:
    return sum(each["rows_out"] for each in ps.sql("SHOW QUERIES").table.to_pylist())


def _queries() -> str:
    aggregates = ("count(*)", "sum(v)", "avg(v)", "max(v)", "min(v)")
    sliding = [
        f"SELECT window_end, k, {aggregates[n % 5]} AS x FROM readings "
        f"[RANGE {2 + 2 * (n % 4)} SECONDS SLIDE {1 + n % 2} SECONDS] GROUP BY k"
        for n in range(40)
    ]
    filters = [f"SELECT ts, k, v FROM readings WHERE v > {99 + n / 10}" for n in range(8)]
    join = (
        "SELECT r.ts, r.k, o.w FROM readings [RANGE 2 SECONDS] AS r "
        "JOIN orders [RANGE 2 SECONDS] AS o ON r.k = o.k"
    )
    asked = enumerate([*sliding, *filters, join])
    return "".join(f"CREATE QUERY q{number} AS {sql};" for number, sql in asked)
