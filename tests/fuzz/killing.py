"""Runs a case by the command `penstock run`, which is killed and repeated until it is done."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.fuzz.case import Case
from tests.fuzz.running import HANG_SECONDS, Failed, Outcome, Variant, definitions, probe

SOON_SECONDS = 6.0  # a kill comes up to so long after the journal is there: small cases take less
MARK = "journal"  # what a home has once it is being worked in


def run_killed(
    spark: SparkSession, case: Case, variant: Variant, place: Path
) -> dict[str, Outcome]:
    """Return what each query had written in the end."""
    found = probe(spark, case, place / "probe")
    script = place / "script.sql"
    script.write_text(";\n".join(_statements(case, variant, place, set(found))))
    wrong = _until_done(variant, script, place)
    for number, query in enumerate(case.queries):
        if query.name not in found:
            found[query.name] = wrong or _written(place / f"out{number}")
    return found


def _statements(case: Case, variant: Variant, place: Path, refused: set[str]) -> Iterator[str]:
    for text in definitions(case, variant, place):
        yield text.replace("CREATE STREAM", "CREATE STREAM IF NOT EXISTS", 1).replace(
            "CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1
        )
    for number, query in enumerate(case.queries):
        if query.name not in refused:
            name = "`" + query.name.replace("`", "``") + "`"
            sink = f"files(path => '{place / f'out{number}'}', format => 'parquet')"
            yield f"CREATE QUERY IF NOT EXISTS {name} AS {query.stream} INTO {sink}"


def _until_done(variant: Variant, script: Path, place: Path) -> Failed | None:
    """Repeat the command, killed some times; return what went wrong with it in the end."""
    chance = random.Random(variant.kill_seed)
    home = place / "home"
    command = [sys.executable, "-m", "penstock", "run", str(script), "--until-idle"]
    command += ["--home", str(home), "--master", "local[2]", "--format", "json"]
    command += ["--writable", str(place)]  # the sinks; else it is the working directory alone
    log = place / "stderr.txt"
    for life in range(variant.kills + 1):
        with log.open("ab") as errors:
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
            )
        last = life == variant.kills
        if not last:
            _wait_for(home, process)
        seconds = HANG_SECONDS if last else chance.random() * SOON_SECONDS
        code = _ended(process, seconds)
        if code is None and last:
            return Failed("hang", log.read_text()[-2000:])
        if code is not None:
            return None if code == 0 else Failed("stopped", log.read_text()[-2000:])
    return None


def _wait_for(home: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the command works in its home."""
    deadline = time.monotonic() + HANG_SECONDS
    while not any(home.glob(f"{MARK}*")) and process.poll() is None:
        if time.monotonic() > deadline:
            return
        time.sleep(0.05)


def _ended(process: "subprocess.Popen[bytes]", seconds: float) -> int | None:
    """Return the command's exit code, or None where it had to be killed with its Java."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def _written(directory: Path) -> pa.Table:
    parts = [pq.read_table(path) for path in sorted(directory.glob("part-*"))]
    return pa.concat_tables(parts) if parts else pa.table({})
