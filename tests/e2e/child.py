"""A Penstock in a process of its own, for tests that kill it; told what to do by a JSON file."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import penstock
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits


def say(*words: object) -> None:
    """Tell the parent, at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(told: dict[str, Any]) -> None:
    """Run the script until its sources have ended; push what is to be pushed."""
    few = told["rows_a_run"]  # many runs to be killed in
    limits = RunLimits(flow_rows=few, aggregate_rows=few, rule_rows=few)
    if told["all_large"]:  # every train goes to files that tasks write
        limits = replace(limits, large_rows=0, driver_rows=0)
    settings = Settings(checkpoint_seconds=told["checkpoint_seconds"], limits=limits)
    say("starting")
    home = Path(told["home"])
    with penstock.connect(
        home,
        master=told["master"],
        settings=settings,
        writable=[home.parent],
        hosts=told["hosts"],
        journal=told["journal"],
    ) as ps:
        say("open")
        ps.script(told["script"])
        say("standing")
        for first in range(told["push_from"], told["push_to"], 10):
            ps.push("p", [{"id": number} for number in range(first, first + 10)])
            say("acknowledged", first)
            time.sleep(0.02)
        while not ps.wait(1):
            say("working")
    say("done")


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
