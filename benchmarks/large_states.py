"""`python -m benchmarks.large_states`: states of many keys, beside Structured Streaming.

One open window gets all rows of all files but the last, whose few rows close it: a tumbling
aggregate of so many keys. Each side has a process of its own, so that what it takes at its peak is
its own. From the end of the first file's run to the last row out, so that start-up counts for
neither; the peer keeps its state in RocksDB, with its best file manager.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

import penstock
from benchmarks.cpu import TICKS
from benchmarks.penstock_side import create_stream
from benchmarks.readings import DDL, FIRST_DAY, SECOND
from benchmarks.session import STORES, start_spark, streaming_session
from benchmarks.streaming_side import read_files
from benchmarks.totals import totals
from penstock.client import Connection
from penstock.engine.spark.jobs.processor import Processor
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RUN_LIMITS, RunLimits

HOUR_SECONDS = 3600
ROCKSDB = next(store for store in STORES if store.name == "RocksDB")
MEBI = 1 << 20
SIDES = ("penstock", "streaming")
SIZES = ("rows", "batches", "state-rows")


def main() -> None:
    """Run both sides in turns, or one of them in this process."""
    told = _arguments()
    if told.side:
        print(json.dumps(_run(told)))
        return
    found: dict[str, list[dict[str, Any]]] = {side: [] for side in told.sides}
    with tempfile.TemporaryDirectory() as scratch:
        files = Path(scratch) / "files"
        _write(files, told)
        for turn in range(told.repetitions):
            for side in told.sides if turn % 2 == 0 else tuple(reversed(told.sides)):
                found[side].append(_child(side, files, told))
                print(told.keys, side, json.dumps(found[side][-1]), flush=True)
    for side, each in found.items():
        middle = {name: median(one[name] for one in each) for name in each[0]}
        print(f"{told.keys:,} keys, {side}, medians: {json.dumps(middle)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=500_000, help="in a file")
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--state-rows", type=int, default=RUN_LIMITS.state_rows)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    parser.add_argument("--side", choices=SIDES, help="run in this process, over --files")
    parser.add_argument("--files", type=Path)
    return parser.parse_args()


def _child(side: str, files: Path, told: argparse.Namespace) -> dict[str, Any]:
    sizes = [f"--{name}={vars(told)[name.replace('-', '_')]}" for name in SIZES]
    command = [sys.executable, "-m", __spec__.name if __spec__ else "", "--side", side]
    done = subprocess.run(  # noqa: S603 - of our own words
        [*command, "--files", str(files), *sizes], check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _write(path: Path, told: argparse.Namespace) -> None:
    """Write the files; the last one has a row of each of a few keys, two windows later."""
    path.mkdir()
    random = np.random.default_rng(7)
    names = pa.array([f"key-{number:08d}" for number in range(told.keys)])
    span = HOUR_SECONDS * SECOND // told.batches
    for batch in range(told.batches + 1):
        is_last = batch == told.batches
        rows = 100 if is_last else told.rows
        first = FIRST_DAY + batch * span + (2 * HOUR_SECONDS * SECOND if is_last else 0)
        times = np.sort(random.integers(first, first + span, rows))
        table = pa.table(
            {
                "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
                "k": names.take(pa.array(random.integers(0, told.keys, rows))),
                "v": pa.array(random.integers(0, 4_000, rows) / 4),
            }
        )
        pq.write_table(table, path / f"batch-{batch:04d}.parquet")


def _run(told: argparse.Namespace) -> dict[str, Any]:
    total, counted = told.rows * told.batches + 100, told.rows * (told.batches - 1)
    with tempfile.TemporaryDirectory() as scratch:
        if told.side == "penstock":
            limits = RunLimits(state_rows=told.state_rows)
            seconds, more = _penstock(told.files, Path(scratch), total, limits)
        else:
            seconds, more = _streaming(told.files, Path(scratch), total)
    rate = {"rows/s": round(counted / seconds), "us a row": round(1e6 * seconds / counted, 3)}
    return rate | more


def _penstock(
    files: Path, scratch: Path, total: int, limits: RunLimits
) -> tuple[float, dict[str, float]]:
    script = create_stream("readings", DDL, files) + (
        "CREATE QUERY totals AS SELECT window_start, k, sum(v) AS total, count(*) AS n, "
        f"avg(v) AS mean FROM readings [RANGE {HOUR_SECONDS} SECONDS] GROUP BY k;"
    )
    passed: Counter[str] = Counter()
    with (
        mock.patch.object(Processor, "in_driver", _counted(Processor.in_driver, passed)),
        mock.patch.object(Processor, "_by_spark", _counted(Processor._by_spark, passed)),
        penstock.connect(scratch / "home", settings=Settings(limits=limits)) as connection,
    ):
        connection.script(script)
        spark = connection.system.sessions.large
        _until(connection, 1)
        began, used = time.monotonic(), _cpu(spark)
        _until(connection, total)
        seconds = time.monotonic() - began
        (unit,) = connection.system.topology.units.values()
        figures = {"CPU s": round(_cpu(spark) - used, 1)} | _peaks(spark)
        figures |= {
            "rows out": unit.rows_out,
            "driver bytes a row": round(passed["bytes"] / total, 2),
            "output through the driver": unit.driver_bytes,
        }
        figures["partitions"] = getattr(unit.state, "partitions", -1)
        return seconds, figures


def _counted(does: Any, passed: Counter[str]) -> Any:
    """Return a way of the processor's that counts the bytes of the rows that it gives."""

    def counting(*arguments: Any, **options: Any) -> Any:
        table = does(*arguments, **options)
        passed["bytes"] += 0 if table is None else table.nbytes
        return table

    return counting


def _until(connection: Connection, rows: int) -> None:
    """Wait until so many tuples were taken, and nothing of them waits."""
    system = connection.system
    while True:
        taken = sum(unit.rows_in for unit in system.topology.units.values())
        idle = system.pool.is_quiesced and not system.topology.buffers.waited_for()
        if taken >= rows and (idle or rows == 1):
            return
        time.sleep(0.02)


def _streaming(files: Path, scratch: Path, total: int) -> tuple[float, dict[str, float]]:
    spark = start_spark(**{"spark.driver.memory": "2g"})
    session = streaming_session(spark, ROCKSDB)
    frame = totals(read_files(session, DDL, files), F.window("ts", f"{HOUR_SECONDS} seconds"))
    writer = frame.writeStream.outputMode("append").trigger(availableNow=True).format("noop")
    query = writer.option("checkpointLocation", str(scratch / "checkpoint")).start()
    while not query.recentProgress:
        time.sleep(0.02)
    began, used = time.monotonic(), _cpu(spark)
    query.awaitTermination()
    seconds, cpu = time.monotonic() - began, _cpu(spark) - used
    read = sum(progress["numInputRows"] for progress in query.recentProgress)
    assert read == total, (read, total)
    return seconds, {"CPU s": round(cpu, 1)} | _peaks(spark)


def _peaks(spark: Any) -> dict[str, float]:
    """Return the most memory that this process, its Java and Java's heap have had, in MiB."""
    jvm, java = spark._jvm, _java(spark)
    pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    heap = sum(p.getPeakUsage().getUsed() for p in pools if p.getType().toString() == "Heap memory")
    return {
        "Python MiB": _most("self"),
        "Java MiB": _most(str(java)),
        "heap MiB": round(heap / MEBI),
    }


def _java(spark: Any) -> int:
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())


def _cpu(spark: Any) -> float:
    """Return the CPU seconds that this process and its Java have used."""
    cells = Path(f"/proc/{_java(spark)}/stat").read_text().rpartition(")")[2].split()
    return (int(cells[11]) + int(cells[12])) / TICKS + time.process_time()


def _most(process: str) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM"))
    return round(int(peak.split()[1]) / 1024)


if __name__ == "__main__":
    main()
