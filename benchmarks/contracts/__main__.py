"""`python -m benchmarks.contracts`: loads up to four times the capacity, with gates and without."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.contracts.phases import Found, measured_capacity, run, table

MODES = (("gates", True), ("no shedding", False))


def main() -> None:
    """Measure the capacity, run all loads in both modes, print and write."""
    args = _arguments()
    capacity = args.capacity or measured_capacity(args.seconds)
    print(f"capacity {capacity:,} rows/s", flush=True)
    found: list[Found] = []
    for load in args.load or (0.5, 1.0, 2.0, 4.0):
        for mode, may_shed in MODES:
            found.append(run(mode, load, capacity, args.seconds, may_shed=may_shed))
            print(table(found[-1:]).splitlines()[-1], flush=True)
    print(table(found))
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contracts", description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each load")
    parser.add_argument("--load", type=float, action="append", help="times the capacity")
    parser.add_argument("--capacity", type=int, help="rows a second, where it is known")
    parser.add_argument("--json", help="where to write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
