"""`python -m benchmarks.contracts`: loads up to four times the capacity, with gates and without."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.contracts import penstock_side, streaming_side
from benchmarks.contracts.judging import Found, Phase, table
from benchmarks.contracts.machinery import costs
from benchmarks.contracts.scene import MAX_LATENCY, TRAFFIC
from benchmarks.contracts.second_gate import steps
from benchmarks.many.environments import DEFAULT_CACHE, plotting
from benchmarks.many.plots import plot
from benchmarks.report import conditions

DRAWING = Path(__file__).with_name("drawing.py")
STREAMING = "Structured Streaming"
MODES = (penstock_side.GATES, penstock_side.NONE, penstock_side.UNIFORM, STREAMING)


def main() -> None:
    """Measure the capacity, run all loads in all modes, print and write."""
    args = _arguments()
    if args.second_gate:
        for step in steps():
            print(step)
        return
    about = conditions(repetitions=1, quick=args.seconds < 10)
    about["max_latency"] = MAX_LATENCY
    about["capacity"] = args.capacity or penstock_side.capacity()
    print(f"capacity {about['capacity']:,} rows/s", flush=True)
    if args.machinery:
        for name, cost in costs(about["capacity"]).items():
            print(f"{name}: {cost}")
        return
    found: list[Found] = []
    for traffic in args.traffic or TRAFFIC:
        for load in args.load or (0.5, 1.0, 2.0, 4.0):
            for mode in args.mode or MODES:
                if mode == penstock_side.UNIFORM and load <= 1:
                    continue  # nothing would be dropped
                phase = Phase(mode, traffic, load, round(load * about["capacity"]))
                side = streaming_side if mode == STREAMING else penstock_side
                found.append(side.run(phase, args.seconds))
                print(table(found[-1:]).splitlines()[-1], flush=True)
    print(table(found))
    if args.json:
        path = Path(args.json)
        body = {"conditions": about, "found": [asdict(each) for each in found]}
        path.write_text(json.dumps(body, indent=1) + "\n")
        plot(path, plotting(DEFAULT_CACHE.expanduser()), DRAWING)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contracts", description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each load")
    parser.add_argument("--load", type=float, action="append", help="times the capacity")
    parser.add_argument("--traffic", choices=TRAFFIC, action="append")
    parser.add_argument("--mode", choices=MODES, action="append")
    parser.add_argument("--capacity", type=int, help="rows a second, where it is known")
    parser.add_argument(
        "--machinery",
        action="store_true",
        help="measure what contracts cost in calm times, and that alone",
    )
    parser.add_argument(
        "--second-gate", action="store_true", help="watch two gates in a row, and that alone"
    )
    parser.add_argument("--json", help="where to write; a picture is drawn beside it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
