"""Random streams, queries and ways of running them against Spark batches: `make fuzz`."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.fuzz.worker import Task


def main() -> int:
    """Run for some minutes, print what came of it, and return 1 where something was found."""
    given = _arguments()
    begun = time.time()
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log.jsonl"
        log.touch()
        first, until = given.first, begun + given.minutes * 60
        while time.time() < until:
            task = Task(given.seed, first, until, given.findings, str(log), given.kill_every)
            _say(f"cases from {first} of seed {given.seed}")
            command = [sys.executable, "-m", "tests.fuzz.worker", json.dumps(asdict(task))]
            code = subprocess.run(command, check=False, env=os.environ).returncode
            lines = _lines(log)
            first = 1 + max([first, *(line["begins"] for line in lines if "begins" in line)])
            if "over" not in (lines or [{}])[-1]:
                _break_off(log, given.findings, f"{given.seed}-{first - 1}", code)
        return _report(_lines(log), time.time() - begun)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--findings", default="fuzz-findings", help="where findings are written")
    parser.add_argument("--kill-every", type=int, default=8, help="kill in one of so many cases")
    return parser.parse_args()


def _break_off(log: Path, directory: str, seed: str, code: int) -> None:
    """Note that the worker died or was stuck in a case: the seed alone shows it again."""
    path = Path(directory) / f"{seed}_ended.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"the process ended with code {code} in case {seed}\n")
    with log.open("a") as notes:
        notes.write(json.dumps({"findings": [str(path)]}) + "\n")


def _lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def _report(lines: list[dict[str, Any]], seconds: float) -> int:
    counts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    findings: list[str] = []
    for line in lines:
        counts.update(line.get("counts", {}))
        refusals.update(line.get("refusals", {}))
        findings += line.get("findings", [])
        counts["cases"] += "number" in line
        for sql, text in line.get("refused", {}).items():
            _say(f"case {line['number']} refused: {text}\n    {sql}")
    _say(f"{seconds / 60:.0f} minutes")
    for name, count in (*sorted(counts.items()), *sorted(refusals.items())):
        _say(f"{count:8} {name}")
    _say(f"{len(findings)} findings")
    for each in findings:
        _say(f"  {each}")
    return 1 if findings else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
