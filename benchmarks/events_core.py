"""How many events the pure detection graph takes in a second of processor time, without Spark.

`python -m benchmarks.events_core [rows [what]]`: a sequence of three with WITHIN over keys, AND of
two and three, and watches that nothing starts; medians of three.
"""

import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.events.detection.detector import END, ORDER, Detector
from penstock.model.events import And, Event, Mode, Primitive, Seq, Watch, primitives

SECOND = 1_000_000
KEY = ("room",)
NAMES = ("smoke", "hot", "silent")
SCHEMA = pa.schema(
    [(END, pa.int64()), (ORDER, pa.int64()), ("room", pa.string()), ("value", pa.float64())]
)
BATCH = 50_000
RATE = 20_000
Train = tuple[Mapping[str, pa.Table], int]
REPEATS = 3


def batches(rows: int, keys: int, *, rate: int) -> list[Train]:
    """Return trains of events, `rate` a second, a little out of order, with their watermarks."""
    rng = np.random.default_rng(7)
    made: list[Train] = []
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


def events(within: int) -> Mapping[str, Event]:
    """Return the expressions that are measured."""
    parts = tuple(Primitive(name, name[0], KEY) for name in NAMES)
    return {
        "SEQ of 3": Seq(parts, within),
        "AND of 2": And(parts[:2], within),
        "AND of 3": And(parts, within),
    }


@dataclass(frozen=True, slots=True)
class Scenario:
    """Some watches over some trains."""

    name: str
    watches: Mapping[str, Watch]
    trains: Sequence[Train]

    @property
    def names(self) -> set[str]:
        """Return the events that are watched."""
        return {leaf.name for each in self.watches.values() for leaf in primitives(each.event)}

    def once(self) -> tuple[float, str]:
        """Return what a fresh detector takes for all trains, and what it found and holds."""
        detector = Detector(self.watches, dict.fromkeys(self.names, SCHEMA))
        found = 0
        begun = time.process_time()
        for parts, mark in self.trains:
            answer = detector.step(parts, mark)
            found += sum(table.num_rows for table in answer.detections.values())
        took = time.process_time() - begun
        held = sum(node.held for node in detector.graph())
        return took, f"{found} detections, {held} held"

    def told(self) -> str:
        """Return the median as a row of a table."""
        outcomes = [self.once() for _ in range(REPEATS)]
        watched = [parts[name] for parts, _ in self.trains for name in self.names & parts.keys()]
        rows = sum(table.num_rows for table in watched)
        rate = rows / statistics.median(took for took, _ in outcomes) / 1000
        return f"| {self.name} | {rate:.0f} | {outcomes[0][1]} |"


def scenarios(rows: int) -> Iterator[Scenario]:
    """Yield what is measured."""
    for keys, span in ((10_000, 60), (10_000, 5), (100_000, 60)):
        trains = batches(rows, keys, rate=RATE)
        for name, event in events(span * SECOND).items():
            for mode in Mode:
                title = f"{name}, {keys} keys, {span} s, {mode}"
                yield Scenario(title, {"it": Watch(event, mode)}, trains)
    trains = batches(rows, 10_000, rate=RATE)
    for count in (1, 10, 100):
        never = [
            Seq((Primitive(f"never {at}", key=KEY), Primitive("hot", "h", KEY)), SECOND)
            for at in range(count)
        ]
        watches = {str(at): Watch(event) for at, event in enumerate(never)}
        yield Scenario(f"SEQ that nothing starts, {count} of them", watches, trains)


def main() -> None:
    """Print a table of the scenarios whose names contain what was asked for."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    asked = sys.argv[2] if len(sys.argv) > 2 else ""
    print(
        "| scenario | thousand events a second of processor time | outcome |\n| --- | --- | --- |"
    )
    for scenario in scenarios(rows):
        if asked in scenario.name:
            print(scenario.told(), flush=True)


if __name__ == "__main__":
    main()
