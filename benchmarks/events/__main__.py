"""`python -m benchmarks.events`: a keyed sequence of three, beside Flink's MATCH_RECOGNIZE."""

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median

import penstock
from benchmarks.events.load import (
    BATCH_ROWS,
    SLACK_SECONDS,
    WITHIN_SECONDS,
    expected,
    write_for_flink,
    write_parquet,
)
from benchmarks.many.environments import DEFAULT_CACHE, flink_home
from benchmarks.many.processes import Child
from benchmarks.many.systems import FLINK_SETTINGS, flink_child
from benchmarks.one_query import until_read

BATCH, WARM = BATCH_ROWS, 4
STREAM = (
    "CREATE STREAM s (ts TIMESTAMP, k INT, kind STRING) TIMESTAMP BY ts "
    f"SLACK INTERVAL {SLACK_SECONDS} SECONDS "
    "FROM files(path => '{path}', format => 'parquet', bounded => true)"
)
EVENTS = ";".join(
    [
        *(f"CREATE EVENT e{kind} AS SELECT k MASK kind = '{kind}' FROM s" for kind in "abc"),
        "CREATE EVENT abc AS SELECT z.k FROM (ea x SEQ eb y SEQ ec z) "
        f"PARTITION BY k WITHIN INTERVAL {WITHIN_SECONDS} SECONDS",
        "CREATE QUERY found AS SELECT k, _start, _end FROM abc [CONTEXT chronicle]",
    ]
)
# Between a, b and c anything of the key may stand; the next match begins behind the last one.
MATCH = (
    "SELECT k, first_at, last_at FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
    "MEASURES A.ts AS first_at, C.ts AS last_at ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
    f"PATTERN (A N1*? B N2*? C) WITHIN INTERVAL '{WITHIN_SECONDS}' SECOND "
    "DEFINE A AS A.kind = 'a', B AS B.kind = 'b', C AS C.kind = 'c')"
)
PATIENCE_SECONDS = 600.0


def main() -> None:
    """Run both, in turns, and print rows a second."""
    args = _arguments()
    found: dict[str, list[float]] = {"penstock": [], "flink": []}
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch)
        print(
            f"{expected((args.batches + WARM) * BATCH):,} sequences by the definition", flush=True
        )
        home = flink_home(Path(args.cache).expanduser())
        with flink_child(home, where / "flink.log") as child:
            if not args.alone:
                count = _flink_answers(child, where / "check", home.form)
                assert count == expected(WARM * BATCH), f"Flink finds {count:,}"
                print(f"flink finds all {count:,} of the first {WARM * BATCH:,} rows", flush=True)
            for turn in range(args.repetitions):
                found["penstock"].append(_penstock(where / f"p{turn}", args.batches))
                print(f"penstock {found['penstock'][-1]:,.0f} rows/s", flush=True)
                if not args.alone:
                    found["flink"].append(
                        _flink(child, where / f"f{turn}", args.batches, home.form)
                    )
                    print(f"flink {found['flink'][-1]:,.0f} rows/s", flush=True)
    told = {name: median(each) for name, each in found.items() if each}
    print(json.dumps({"rows_per_second": told, "all": found}))
    if args.json:
        Path(args.json).write_text(json.dumps({"rows_per_second": told, "all": found}, indent=1))


def _penstock(where: Path, batches: int) -> float:
    """Return rows a second from the end of the warm files on."""
    staged = where / "staged"
    write_parquet(staged, batches + WARM, BATCH)
    files = sorted(staged.iterdir())
    read = where / "read"
    read.mkdir()
    for each in files[:WARM]:
        each.rename(read / each.name)
    with penstock.connect(where / "home", master="local[2]") as connection:
        connection.script(STREAM.format(path=read).replace(", bounded => true", "") + ";" + EVENTS)
        until_read(connection, WARM * BATCH)
        began = time.monotonic()
        for each in files[WARM:]:
            each.rename(read / each.name)
        until_read(connection, len(files) * BATCH)
        took = time.monotonic() - began
        rows = connection.sql("SELECT count(*) AS n FROM found").table
        print(f"  {rows['n'][0].as_py():,} sequences in {took:.1f} s", flush=True)
    return batches * BATCH / took


def _flink(child: Child, where: Path, batches: int, form: str) -> float:
    """Return rows a second, a run over the warm rows alone subtracted."""
    counts = (WARM * BATCH, (batches + WARM) * BATCH)
    less, more = (
        _ask_flink(child, where / str(count), count, form, "'connector' = 'blackhole'")
        for count in counts
    )
    return batches * BATCH / (more - less)


def _flink_answers(child: Child, where: Path, form: str) -> int:
    """Return how many sequences it finds in the warm rows."""
    out = where / "out"
    sink = f"'connector' = 'filesystem', 'path' = '{out.as_uri()}', 'format' = 'csv'"
    _ask_flink(child, where / "in", WARM * BATCH, form, sink)
    return sum(len(each.read_text().splitlines()) for each in out.rglob("*") if each.is_file())


def _ask_flink(child: Child, path: Path, count: int, form: str, sink: str) -> float:
    """Return the seconds of a job over so many rows."""
    write_for_flink(path, count, form)
    source = (
        "CREATE TABLE s (millis BIGINT, k INT, kind STRING, "
        "ts AS CAST(TO_TIMESTAMP_LTZ(millis, 3) AS TIMESTAMP(3)), "
        f"WATERMARK FOR ts AS ts - INTERVAL '{SLACK_SECONDS}' SECOND) "
        f"WITH ('connector' = 'filesystem', 'path' = '{path.as_uri()}', 'format' = '{form}')"
    )
    columns = "k INT, first_at TIMESTAMP(3), last_at TIMESTAMP(3)"
    answer = child.ask(
        "run",
        PATIENCE_SECONDS,
        settings=FLINK_SETTINGS,
        tables=[source, f"CREATE TABLE found ({columns}) WITH ({sink})"],
        inserts=[f"INSERT INTO found {MATCH}"],
    )
    return float(answer.said["job_seconds"])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.events", description=__doc__)
    parser.add_argument("--batches", type=int, default=20, help=f"of {BATCH:,} rows")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="without Flink")
    parser.add_argument("--cache", default=str(DEFAULT_CACHE))
    parser.add_argument("--json", help="where to write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
