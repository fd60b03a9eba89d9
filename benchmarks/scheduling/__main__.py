"""`python -m benchmarks.scheduling`: every strategy under the same load past capacity."""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import penstock
from benchmarks.scheduling.load import queries, register_functions, streams_sql
from benchmarks.scheduling.phases import Found, run_phase
from benchmarks.scheduling.told import told
from penstock.errors import BadOptionError
from penstock.experiments.drawing import draw
from penstock.runtime.loop.supervisor import Settings
from penstock.sim.report import Report

STRATEGIES = (
    "round_robin",
    "pcs",
    "segment",
    "simplified_segment",
    "chain",
    "basic",
    "optprofit WITH (handling => profit_dominant)",
)
WARM = "chain"  # which asks for trials: what operators cost is known when it counts
WARM_PHASES = 5  # at most, until all operators have been tried
SLOTS = 2


def main() -> None:
    """Run, print and write."""
    args = _arguments()
    chosen = queries(args.queries, args.seed)
    found: list[Found] = []
    settings = Settings(slots=SLOTS, share=False)  # bundles would leave little to schedule
    with (
        tempfile.TemporaryDirectory() as home,
        penstock.connect(home, master=f"local[{SLOTS}]", settings=settings) as connection,
    ):
        register_functions(connection)
        connection.script(streams_sql() + ";".join(query.sql() for query in chosen))
        connection.sql(f"SET BATCHING {args.batching}")
        for _ in range(WARM_PHASES):
            warm = run_phase(connection, chosen, WARM, args.rate // 4, args.warm)
            print(f"warm for {warm.seconds:.0f} s, busy {warm.busy_seconds:.0f} s", flush=True)
            if connection.system.supervisor.control.is_sure:
                break
        chosen_ones = args.strategy or list(STRATEGIES)
        for turn in range(args.rounds):  # each begins with another: what is first is at a loss
            for strategy in (*chosen_ones[turn:], *chosen_ones[:turn]):
                found.append(run_phase(connection, chosen, strategy, args.rate, args.seconds))
                print(_line(found[-1]), flush=True)
        if args.measured:
            figures = connection.sql("EXPLAIN SCHEDULE AS JSON").message
            Path(args.measured).write_text(f"{figures}\n", encoding="utf-8")
        (row,) = connection.sql("SHOW STRATEGY").table.to_pylist()
        print(row)
    report = told(found, _setting(args))
    print(report.text())
    if args.out:
        _write(report, found, Path(args.out))


def _setting(args: argparse.Namespace) -> str:
    return (
        f"{args.queries} queries over 3 streams of {args.rate} tuples a second for "
        f"{args.seconds:g} s, {SLOTS} slots, batching {args.batching}, without bundles, "
        f"medians of {args.rounds}"
    )


def _write(report: Report, found: Sequence[Found], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "spark.txt").write_text(report.text())
    (out / "spark.csv").write_text(report.csv())
    phases = [asdict(each) for each in found]
    told_json = {"at": time.strftime("%Y-%m-%d"), "setting": report.setting, "phases": phases}
    (out / "spark.json").write_text(json.dumps(told_json, indent=1) + "\n")
    try:
        draw(report, out / "spark.png")
    except BadOptionError as error:
        print(f"no picture: {error.message}")


def _line(found: Found) -> str:
    return (
        f"{found.strategy:46} utility {found.utility:.3f}  latency {found.mean_latency:6.2f} s "
        f"(rows {found.row_latency:.2f}, p95 {found.p95_latency:6.2f})  "
        f"queued {found.mean_bytes / 1e3:7.0f} kB mean "
        f"{found.peak_bytes / 1e3:7.0f} peak  done in {found.seconds:5.1f} s, "
        f"busy {found.busy_seconds:5.1f}, deciding {found.deciding_seconds:.3f}, "
        f"{found.units} units"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduling", description=__doc__)
    parser.add_argument("--queries", type=int, default=24)
    parser.add_argument("--rate", type=int, default=200, help="tuples a second of each stream")
    parser.add_argument("--seconds", type=float, default=25.0, help="of each strategy's load")
    parser.add_argument("--warm", type=float, default=20.0, help="seconds at a quarter of the rate")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strategy", action="append", help="as in SET STRATEGY; several may be")
    parser.add_argument("--batching", default="intelligent", help="as in SET BATCHING")
    parser.add_argument("--out", help="write a table, all figures and a picture there")
    parser.add_argument("--measured", help="write what `penstock simulate --from` takes there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
