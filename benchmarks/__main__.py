"""`python -m benchmarks`: run scenarios, print their tables, write them to benchmarks/results/."""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.band_join import band_join
from benchmarks.calm import calm
from benchmarks.create_latency import create_latency
from benchmarks.estimates import estimates
from benchmarks.http import http_beside
from benchmarks.join_reuse import join_reuse
from benchmarks.join_strategies import join_strategies
from benchmarks.measurement import Effort, Outcome
from benchmarks.nexmark import nexmark
from benchmarks.oblivious_join import oblivious_join
from benchmarks.page_cost import page_cost
from benchmarks.push_latency import push_latency
from benchmarks.report import conditions, markdown, write_results
from benchmarks.session import start_spark
from benchmarks.shared_joins import shared_joins
from benchmarks.sliding import sliding
from benchmarks.tumbling import tumbling, tumbling_json
from benchmarks.unit_cost import unit_cost
from benchmarks.window_join import window_join

SCENARIOS: dict[str, Callable[[SparkSession, Path, Effort], Outcome]] = {
    "tumbling": tumbling,
    "push_latency": push_latency,
    "calm": calm,
    "create_latency": create_latency,
    "estimates": estimates,
    "http": http_beside,
    "page_cost": page_cost,
    "unit_cost": unit_cost,
    "tumbling_json": tumbling_json,
    "window_join": window_join,
    "oblivious_join": oblivious_join,
    "band_join": band_join,
    "shared_joins": shared_joins,
    "join_strategies": join_strategies,
    "join_reuse": join_reuse,
    "sliding": sliding,
    "nexmark": nexmark,
}
QUICK = ("tumbling", "push_latency", "unit_cost")


def main() -> None:
    """Run what the command line asks for."""
    asked = _arguments()
    effort = Effort(asked.all, asked.repetitions, asked.tiny)
    chosen = asked.only or (list(SCENARIOS) if asked.all else QUICK)
    spark = start_spark()
    about = conditions(repetitions=effort.repetitions, quick=not asked.all)
    outcomes = []
    try:
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
            for name in chosen:
                began = time.perf_counter()
                print(f"{name} …", flush=True)
                outcomes.append(SCENARIOS[name](spark, Path(directory), effort))
                print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    finally:
        spark.stop()
    print("\n" + markdown(outcomes, about))
    print(f"written: {write_results(outcomes, about, asked.json).name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a few minutes (the default)")
    size.add_argument("--all", action="store_true", help="every scenario, the larger grid")
    size.add_argument("--tiny", action="store_true", help="seconds: does it run, are rows equal")
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="only this scenario")
    parser.add_argument("--repetitions", type=int, default=3, help="of each side (at least 3)")
    parser.add_argument("--json", type=Path, help="where to write, Markdown beside it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
