"""`python -m benchmarks.many`: run scenarios, print tables, write and plot them.

Kinds, numbers of queries, measures and peers are lists, separated by commas. Without kinds and
numbers it is the quick set: one query, 100 mixed ones, 1,000 thresholds.
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.many.environments import DEFAULT_CACHE, FLINK, plotting
from benchmarks.many.kinds import KINDS
from benchmarks.many.plots import plot
from benchmarks.many.scenarios import FULL, QUICK, QUICK_SET, TINY, Scenario, Size
from benchmarks.many.suite import Suite, opened_suite
from benchmarks.measurement import Outcome
from benchmarks.report import RESULTS, conditions, markdown, write_results

PEERS = ("streaming", "flink")
MEASURES = ("throughput", "start", "create", "add")


def main() -> None:
    """Run what the command line asks for."""
    asked = _arguments()
    size = _size(asked)
    about = conditions(repetitions=asked.repetitions, quick=size is not FULL)
    if "flink" in asked.peers:
        about["flink"] = FLINK
    cache = asked.cache.expanduser()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
        opening = opened_suite(
            Path(directory), cache, asked.peers, asked.repetitions, coalesce=asked.coalesce
        )
        with opening as suite:
            outcomes = [_measured(suite, measure, size, asked) for measure in asked.measure]
    print("\n" + markdown(outcomes, about))
    path = asked.json or RESULTS / f"{about['date']}-many-{_size_name(asked)}.json"
    written = write_results(outcomes, about, path)
    if not asked.no_plots:
        plot(written, plotting(cache))
    print(f"written: {written.name}")


def _measured(suite: Suite, measure: str, size: Size, asked: argparse.Namespace) -> Outcome:
    if measure == "throughput":
        return suite.throughput(_scenarios(asked, size))
    if measure == "start":
        return suite.starting(_scenarios(asked, size))
    kinds, counts = asked.kind or ["mixed"], asked.queries or [100]
    if measure == "create":
        return suite.creating(kinds, max(counts), size.patience)
    return suite.adding(kinds, counts, size.phases)


def _scenarios(asked: argparse.Namespace, size: Size) -> list[Scenario]:
    return [Scenario(kind, count, size) for kind, count in _chosen(asked)]


def _chosen(asked: argparse.Namespace) -> list[tuple[str, int]]:
    if not asked.kind and not asked.queries:
        return list(QUICK_SET)
    kinds, counts = asked.kind or ["mixed"], asked.queries or [100]
    return [(kind, count) for kind in kinds for count in counts]


def _size(asked: argparse.Namespace) -> Size:
    size = TINY if asked.tiny else FULL if asked.all else QUICK
    size = size.with_rows(asked.rows) if asked.rows else size
    size = replace(size, phases=replace(size.phases, pause=asked.pause))
    return replace(size, patience=asked.patience) if asked.patience else size


def _size_name(asked: argparse.Namespace) -> str:
    return "tiny" if asked.tiny else "all" if asked.all else "quick"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many", description=__doc__)
    add = parser.add_argument
    add("--kind", type=_listed(KINDS), help=f"all, or of {', '.join(KINDS)}")
    add("--queries", type=_numbers, help="how many, such as 1,10,100")
    add("--measure", type=_listed(MEASURES), default=["throughput"], help=", ".join(MEASURES))
    add("--peers", type=_listed(PEERS), default=["streaming"], help="streaming, flink or nothing")
    add("--repetitions", type=int, default=3, help="of each system (at least 3)")
    add("--rows", type=int, help="rows a file")
    add("--pause", type=float, default=0.0, help="seconds before each query that is added")
    add("--patience", type=float, help="seconds that a system may take for one run")
    add("--cache", type=Path, default=DEFAULT_CACHE, help="where environments of peers are kept")
    add("--json", type=Path, help="where to write; Markdown and plots beside it")
    add("--coalesce", action="store_true", help="let Penstock take several files in a run")
    add("--no-plots", action="store_true")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--all", action="store_true", help="more and larger files")
    size.add_argument("--tiny", action="store_true", help="seconds: does it run, are rows equal")
    return parser.parse_args()


def _listed(known: Any) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        names = list(known) if names == ["all"] else names
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not of {', '.join(known)}")
        return names

    return read


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


if __name__ == "__main__":
    main()
