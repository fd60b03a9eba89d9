"""`python -m benchmarks.one_query`: one query with the sharing machinery, and without it."""

import tempfile
import time
from pathlib import Path
from statistics import median

import penstock
from benchmarks.events.load import BATCH_ROWS, write_parquet
from penstock.client import Connection
from penstock.runtime.loop.supervisor import Settings

BATCHES, WARM, TURNS = 30, 6, 5
STREAM = (
    "CREATE STREAM s (ts TIMESTAMP, k INT, kind STRING) TIMESTAMP BY ts "
    "FROM files(path => '{path}', format => 'parquet')"
)
QUERY = (
    "CREATE QUERY q AS SELECT window_start, kind, count(*) AS c, sum(k) AS total "
    "FROM s [RANGE 10 SECONDS] WHERE k > 100 GROUP BY kind"
)


def main() -> None:
    """Take both in turns, and print medians and their ratio."""
    found: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(TURNS):
            for share in (True, False) if turn % 2 else (False, True):
                found[share].append(_rate(Path(scratch) / f"{turn}-{share}", share=share))
                print(f"sharing {share}: {found[share][-1]:,.0f} rows/s", flush=True)
    ratio = median(found[True]) / median(found[False])
    print(f"medians {median(found[True]):,.0f} and {median(found[False]):,.0f}: {ratio:.3f}")


def _rate(where: Path, *, share: bool) -> float:
    """Return rows a second from the end of the warm files on."""
    write_parquet(where / "staged", BATCHES + WARM, BATCH_ROWS)
    files, read = sorted((where / "staged").iterdir()), where / "read"
    read.mkdir()
    for each in files[:WARM]:
        each.rename(read / each.name)
    settings = Settings(share=share)
    with penstock.connect(where / "home", master="local[2]", settings=settings) as connection:
        connection.script(f"{STREAM.format(path=read)};{QUERY}")
        until_read(connection, WARM * BATCH_ROWS)
        began = time.monotonic()
        for each in files[WARM:]:
            each.rename(read / each.name)
        until_read(connection, len(files) * BATCH_ROWS)
        return BATCHES * BATCH_ROWS / (time.monotonic() - began)


def until_read(connection: Connection, rows: int, seconds: float = 600.0) -> None:
    """Wait until all of the one stream is in, and nothing of it waits."""
    system, until = connection.system, time.monotonic() + seconds
    while time.monotonic() < until:
        (source_reader,) = system.topology.source_readers.values()
        idle = system.supervisor._pool.is_idle and not system.topology.buffers.waited_for()
        if source_reader.rows >= rows and idle:
            return
        time.sleep(0.02)
    raise TimeoutError("it is never done")


if __name__ == "__main__":
    main()
