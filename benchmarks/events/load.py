"""The load: keys that go through a, b and c again and again, with noise between."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

KEYS = 10_000
BATCH_ROWS = 100_000
NOISE = 4  # every so many turns the rows are of no kind that anybody asks for
ROWS_A_SECOND = 10_000  # of event time
WITHIN_SECONDS = 10
START = 1_767_225_600_000_000  # 2026-01-01, in microseconds
SLACK_SECONDS = 1


def rows(first: int, count: int) -> pa.Table:
    """Return rows from the number `first` on; the same numbers are always the same rows."""
    numbers = np.arange(first, first + count)
    turn, place = numbers // KEYS, numbers % KEYS
    keys = (place * 7_919 + turn * 104_729) % KEYS  # each key once a turn, in changing order
    kinds = np.array(["a", "b", "c"])[(turn - turn // NOISE) % 3]
    noise = turn % NOISE == NOISE - 1
    times = START + numbers * (1_000_000 // ROWS_A_SECOND)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(keys, pa.int32()),
            "kind": pa.array(np.where(noise, "d", kinds)),
        }
    )


def write_parquet(directory: Path, batches: int, size: int) -> None:
    """Write files, one for each batch."""
    directory.mkdir(parents=True)
    for number in range(batches):
        pq.write_table(rows(number * size, size), directory / f"part-{number:05d}.parquet")


def write_for_flink(directory: Path, count: int, form: str) -> None:
    """Write the same rows as two files, one for each reader, both through all of the time."""
    directory.mkdir(parents=True)
    whole = rows(0, count)
    millis = pa.array(whole["ts"].cast("int64").to_numpy() // 1000)
    whole = whole.drop(["ts"]).add_column(0, "millis", millis)
    for half in range(2):
        part = whole.take(pa.array(np.arange(half, count, 2)))
        if form == "parquet":
            pq.write_table(part, directory / f"part-{half}.parquet")
        else:
            options = pa.csv.WriteOptions(include_header=False)
            pa.csv.write_csv(part, directory / f"part-{half}.csv", options)


def expected(count: int) -> int:
    """Return how many sequences there are: every c ends one, as no turn of a key is left out."""
    return int(pc.sum(pc.equal(rows(0, count)["kind"], "c")).as_py())
