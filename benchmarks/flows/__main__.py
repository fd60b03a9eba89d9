"""`python -m benchmarks.flows`: an FFT over windows, beside numpy, UDFs and Spark's path alone."""

import argparse
import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.flows import peers
from benchmarks.flows.contest import paces
from benchmarks.flows.ours import flow_side
from benchmarks.flows.signals import CHANNELS, SAMPLE, Signals
from benchmarks.flows.tables import (
    CARRIED,
    CHEAP,
    DEAR,
    JOBS,
    LOOP,
    OURS,
    PANDAS,
    PICKLED,
    ROW,
    Case,
    cheap_table,
    dear_table,
    degrees_table,
)
from benchmarks.flows.work import DEAR_SECONDS as A_WINDOW
from benchmarks.flows.work import spectrum, times_for
from benchmarks.many.environments import DEFAULT_CACHE, plotting
from benchmarks.many.plots import plot
from benchmarks.measurement import Outcome
from benchmarks.report import RESULTS, conditions, markdown, write_results
from benchmarks.session import start_spark

SIZES = (256, 1024, 4096, 16384)
ALL_SIZES = (256, 512, 1024, 2048, 4096, 8192, 16384)
CHEAP_SAMPLES = 2**20  # a channel and file: 25 MB of all three
DRAWING = Path(__file__).with_name("drawing.py")
DEAR_SECONDS = 1.0  # of numpy's time, a file
DEAR_BYTES = 48 << 20  # a file at most: a JVM of 2 GB has to collect what UDFs made of it
TABLES = ("cheap", "dear", "degrees")
FLOWS = {
    "central": "central({f})",
    "distribute": "window_distribute(2, {f})",
    "split": "window_split(2, {f})",
}
PLACES = ("driver", "workers")
DEGREES = (LOOP, *(f"{name}, {where}" for name in FLOWS for where in PLACES))


def main() -> None:
    """Measure, print the tables, and write them."""
    asked = _arguments()
    sizes = asked.sizes or (ALL_SIZES if asked.all else (1024,) if asked.tiny else SIZES)
    about = conditions(repetitions=asked.repetitions, quick=not asked.all)
    spark = start_spark()
    try:
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
            place = Path(scratch)
            outcomes = [_outcome(spark, place, name, sizes, asked) for name in asked.only or TABLES]
    finally:
        spark.stop()
    print("\n" + markdown(outcomes, about))
    written = write_results(outcomes, about, asked.json or RESULTS / f"{about['date']}-flows.json")
    if not asked.no_plots:
        plot(written, plotting(Path(asked.cache).expanduser()), DRAWING)
    print(f"written: {written.name}")


def _outcome(
    spark: SparkSession, place: Path, name: str, sizes: Sequence[int], asked: argparse.Namespace
) -> Outcome:
    """Run the cases of one table."""
    cheap = [(_cheap_signals(place, size, asked), 1) for size in sizes]
    dear = [(_dear_signals(place, size, asked), times_for(size)) for size in sizes]
    match name:
        case "cheap":
            return cheap_table([_case(spark, *each, CHEAP, asked) for each in cheap])
        case "dear":
            return dear_table([_case(spark, *each, DEAR, asked) for each in dear])
        case _:
            return degrees_table([_case(spark, *each, DEGREES, asked) for each in (*cheap, *dear)])


def _cheap_signals(place: Path, size: int, asked: argparse.Namespace) -> Signals:
    return Signals(place, size, 2**16 if asked.tiny else CHEAP_SAMPLES, _files(asked))


def _dear_signals(place: Path, size: int, asked: argparse.Namespace) -> Signals:
    windows = round((0.05 if asked.tiny else DEAR_SECONDS) / A_WINDOW)
    most = DEAR_BYTES // (size * len(CHANNELS) * SAMPLE.itemsize)
    return Signals(place, size, min(windows, most) * size, _files(asked))


def _files(asked: argparse.Namespace) -> int:
    return 3 if asked.tiny else int(asked.files)


def _case(
    spark: SparkSession,
    size: Signals,
    times: int,
    names: Sequence[str],
    asked: argparse.Namespace,
) -> Case:
    made = spectrum(times)
    function = "fft3" if times == 1 else "dear"
    every = {
        OURS: lambda: flow_side(spark, asked.flow.format(f=function), made),
        **{
            f"{name}, {where}": functools.partial(
                flow_side, spark, flow.format(f=function), made, where
            )
            for name, flow in FLOWS.items()
            for where in PLACES
        },
        LOOP: lambda: functools.partial(peers.numpy_loop, made),
        CARRIED: lambda: peers.carried(spark),
        JOBS: lambda: peers.carried_in_jobs(spark),
        ROW: lambda: peers.row_udf(spark, made, arrow=True),
        PICKLED: lambda: peers.row_udf(spark, made, arrow=False),
        PANDAS: lambda: peers.pandas_udf(spark, made),
    }
    sides = {name: every[name]() for name in names}
    case = Case(size, times, paces(spark, size.path, size, sides, asked.repetitions))
    told = ", ".join(f"{name} {case.windows(name):,.0f}" for name in names)
    print(f"  {size.size:,} samples, {times} FFTs, windows/s: {told}", flush=True)
    return case


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flows", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="four sizes (the default)")
    size.add_argument("--all", action="store_true", help="seven sizes")
    size.add_argument("--tiny", action="store_true", help="does it run, are spectra equal")
    parser.add_argument("--flow", default="central({f})", help="with {f} for the function")
    parser.add_argument("--only", action="append", choices=TABLES, help="this table alone")
    parser.add_argument("--sizes", type=_sizes, help="of windows, such as 256,4096")
    parser.add_argument("--files", type=int, default=6, help="for each run; the first warms up")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write, Markdown and PNG beside it")
    parser.add_argument("--no-plots", action="store_true")
    parser.add_argument("--cache", default=str(DEFAULT_CACHE), help="of the Python that plots")
    return parser.parse_args()


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


if __name__ == "__main__":
    main()
