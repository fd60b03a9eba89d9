"""`python -m benchmarks.events.rules`: a thousand rules on a hundred events, and one more rule."""

import argparse
import tempfile
import time
from statistics import median

import numpy as np
import pyarrow as pa

import penstock
from benchmarks.events.load import START
from penstock.client import Connection

EVENTS, KEYS, TRAIN = 100, 1_000, 20_000
STREAM = "CREATE STREAM s (ts TIMESTAMP, k INT, kind INT, v DOUBLE) TIMESTAMP BY ts FROM push()"


def main() -> None:
    """Push trains under so many rules, and print what one costs and what one more rule adds."""
    args = _arguments()
    for count in (EVENTS, args.rules):
        took = _seconds(count, args.trains)
        told = f"{took * 1e3:.0f} ms a train of {TRAIN:,} tuples, {TRAIN / took:,.0f} tuples/s"
        print(f"{count:,} rules on {EVENTS} events: {told}", flush=True)
        if count == EVENTS:
            few = took
    extra = (took - few) / (args.rules - EVENTS) / TRAIN * EVENTS
    print(f"one more rule: {extra * 1e6:.3f} microseconds for each tuple of its event")


def _seconds(rules: int, trains: int) -> float:
    with tempfile.TemporaryDirectory() as home, penstock.connect(home, master="local[2]") as ps:
        ps.action("hear", _hear)
        made = [STREAM]
        made += [f"CREATE EVENT e{n} AS SELECT k, v MASK kind = {n} FROM s" for n in range(EVENTS)]
        made += [
            f"CREATE RULE r{n} ON e{n % EVENTS} WHEN v > {1000 + n} DO CALL hear"
            for n in range(rules)
        ]
        ps.script(";".join(made))
        took = [_train(ps, number) for number in range(trains + 2)]
        return median(took[2:])


def _hear(_rows: pa.Table, _key: str) -> None:
    """Do nothing: no rule fires here."""


def _train(ps: Connection, number: int) -> float:
    drawn = np.random.default_rng(number)
    table = pa.table(
        {
            "ts": pa.array(
                START + np.arange(TRAIN) * 50 + number * TRAIN * 50, pa.timestamp("us", "UTC")
            ),
            "k": pa.array(drawn.integers(0, KEYS, TRAIN), pa.int32()),
            "kind": pa.array(drawn.integers(0, EVENTS, TRAIN), pa.int32()),
            "v": pa.array(drawn.uniform(0, 1000, TRAIN)),
        }
    )
    began = time.monotonic()
    ps.push("s", table)
    quiet = 0
    while quiet < 3:
        topology, pool = ps.system.topology, ps.system.supervisor._pool
        (source_reader,) = topology.source_readers.values()
        idle = source_reader.rows == (number + 1) * TRAIN and pool.is_idle
        quiet = quiet + 1 if idle and not topology.buffers.waited_for() else 0
        time.sleep(0.002)
    return time.monotonic() - began


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.events.rules", description=__doc__)
    parser.add_argument("--rules", type=int, default=1_000)
    parser.add_argument("--trains", type=int, default=7)
    return parser.parse_args()


if __name__ == "__main__":
    main()
