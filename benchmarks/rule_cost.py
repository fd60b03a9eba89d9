"""`python -m benchmarks.rule_cost`: what rules cost that are asked about tuples and do not fire."""

import tempfile
import time
from statistics import median

import numpy as np
import pyarrow as pa

import penstock
from penstock.client import Connection
from penstock.engine.trains.rows import in_memory
from penstock.runtime.loop.conditions import ask
from penstock.runtime.work.live_rule import LiveRule

RULES = (1, 10, 100, 1000)
TUPLES = (1_000, 10_000, 100_000)
REPETITIONS = 3
SLOTS = 2
# Comparisons with constants are found without Spark, over one column or two; what is computed is
# told by Spark, a bit for each rule.
CONDITIONS = {
    "thresholds": "v > {far}",
    "both": "v > {far} AND k = 'k{n}'",
    "computed": "v + {n} > 3000",
}


def main() -> None:
    """Ask more and more rules on one event about the same tuples, and print what one more adds."""
    with (
        tempfile.TemporaryDirectory() as home,
        penstock.connect(home, master=f"local[{SLOTS}]") as connection,
    ):
        connection.action("nothing", lambda *_: None)
        connection.sql(
            "CREATE STREAM s (ts TIMESTAMP, k STRING, v DOUBLE) TIMESTAMP BY ts FROM push()"
        )
        for kind, condition in CONDITIONS.items():
            rules = _rules(connection, kind, condition)
            for count in TUPLES:
                _measure(connection, kind, rules, count)


def _rules(connection: Connection, kind: str, condition: str) -> list[LiveRule]:
    whens = (condition.format(far=1_000 + n, n=n) for n in range(max(RULES)))
    made = (f"CREATE RULE {kind}{n} ON s WHEN {w} DO CALL nothing" for n, w in enumerate(whens))
    connection.script(";".join(made))
    standing = next(iter(connection.system.topology.trigger_batches.values())).rules
    return [rule for name, rule in standing.items() if name.startswith(kind)]


def _measure(connection: Connection, kind: str, rules: list[LiveRule], count: int) -> None:
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "ts": pa.array(np.arange(count), pa.timestamp("us", "UTC")),
            "k": pa.array(np.char.add("k", rng.integers(0, 1_000, count).astype(str))),
            "v": pa.array(rng.random(count) * 100),
        }
    )
    first = 0.0
    for several in RULES:
        seconds = []
        for _ in range(REPETITIONS + 1):  # the first one is planned anew
            began = time.perf_counter()
            trains, asked = [in_memory(table)], rules[:several]
            answer = ask(connection.system.processor, "bench", asked, trains, lambda *_: [])
            seconds.append(time.perf_counter() - began)
            if answer.failures or any(rows.num_rows for rows in answer.rows.values()):
                raise ValueError("no rule should fire")
        taken = median(seconds[1:])
        first = first or taken
        more = f"{(taken - first) / (several - 1) / count * 1e6:.3f} µs" if several > 1 else ""
        print(
            f"{kind:10} {count:>7} tuples {several:>5} rules {taken * 1e3:8.1f} ms  {more}",
            flush=True,
        )


if __name__ == "__main__":
    main()
