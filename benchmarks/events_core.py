"""How many events a second the pure detection graph takes, on one core and without Spark.

`python -m benchmarks.events_core [rows]`: a sequence of three with WITHIN over keys, the same as
AND, and many watches of which none completes; medians of three, in thousands of events a second.
"""

import statistics
import sys
import time
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from penstock.events.detector import END, ORDER, Detector
from penstock.model.events import And, Event, Mode, Primitive, Seq, Watch

SECOND = 1_000_000
NAMES = ("smoke", "hot", "silent")
SCHEMA = pa.schema(
    [(END, pa.int64()), (ORDER, pa.int64()), ("room", pa.string()), ("value", pa.float64())]
)
BATCH = 50_000
REPEATS = 3


def batches(rows: int, keys: int, *, rate: int) -> list[tuple[dict[str, pa.Table], int]]:
    """Return trains of events, `rate` a second, a little out of order, with their watermarks."""
    rng = np.random.default_rng(7)
    made = []
    for begin in range(0, rows, BATCH):
        size = min(BATCH, rows - begin)
        number = np.arange(begin, begin + size)
        times = number * SECOND // rate
        jitter = rng.integers(0, SECOND // 10, size)
        room = pa.array(rng.integers(0, keys, size)).cast(pa.string())
        table = pa.table([times + jitter, number, room, rng.random(size)], schema=SCHEMA)
        kind = rng.integers(0, len(NAMES), size)
        parts = {name: table.filter(pa.array(kind == at)) for at, name in enumerate(NAMES)}
        made.append((parts, int(times[-1]) - SECOND // 10))
    return made


def events(keys: tuple[str, ...], within: int) -> Mapping[str, Event]:
    """Return the expressions that are measured."""
    parts = tuple(Primitive(name, name[0], keys) for name in NAMES)
    return {
        "SEQ of 3": Seq(parts, within),
        "AND of 2": And(parts[:2], within),
        "AND of 3": And(parts, within),
    }


def seconds(watches: Mapping[str, Watch], made: list[tuple[dict[str, pa.Table], int]]) -> float:
    """Return how long a fresh detector takes for all trains."""
    names = {leaf for leaf in NAMES if any(leaf in repr(each.event) for each in watches.values())}
    one = Detector(watches, dict.fromkeys(NAMES, SCHEMA))
    found = 0
    begun = time.perf_counter()
    for parts, mark in made:
        answer = one.step({name: parts[name] for name in names}, mark)
        found += sum(table.num_rows for table in answer.detections.values())
    took = time.perf_counter() - begun
    held = sum(node.held for node in one.graph())
    print(f"    {found:>9} detections, {held:>8} held", end="")
    return took


def scenarios(
    rows: int,
) -> Iterator[tuple[str, Mapping[str, Watch], list[tuple[dict[str, pa.Table], int]]]]:
    """Yield what is measured: a name, the watches and the trains."""
    for keys, span in ((10_000, 60 * SECOND), (10_000, 5 * SECOND), (100_000, 60 * SECOND)):
        made = batches(rows, keys, rate=20_000)
        for name, event in events(("room",), span).items():
            for mode in Mode:
                title = f"{name}, {keys} keys, within {span // SECOND} s, {mode}"
                yield title, {"it": Watch(event, mode)}, made
    made = batches(rows, 10_000, rate=20_000)
    event = Seq((Primitive("smoke", "s", ("room",)), Primitive("never", "n", ("room",))), SECOND)
    yield "one watch that never completes", {"it": Watch(event)}, made


def main() -> None:
    """Print the medians."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    for name, watches, made in scenarios(rows):
        if only not in name or "never" in name:
            continue
        taken = []
        for _ in range(REPEATS):
            print("\r", end="")
            taken.append(seconds(watches, made))
        rate = rows / statistics.median(taken) / 1000
        print(f"\r{name:<50} {rate:>8.0f} thousand a second")


if __name__ == "__main__":
    main()
