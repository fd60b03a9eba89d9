"""A process that runs cases one after the other, and says what came of each on a line of JSON."""

import faulthandler
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from tests.fuzz.case import Case, draw_case
from tests.fuzz.findings import write_finding
from tests.fuzz.judging import Finding, Tally, judge
from tests.fuzz.running import PLAIN, Variant, draw_variant
from tests.fuzz.sessions import open_spark
from tests.fuzz.shrinking import shrink

VARIANTS = 3  # of each case: the plain one and others
STUCK_SECONDS = 1500.0  # a case that takes longer hangs where no time-out of ours reaches
A_LIFE = 150  # cases: homes leave views and plans behind in Spark's memory


@dataclass(frozen=True)
class Task:
    """Cases `first`, `first + 1` … of a seed, until a moment."""

    seed: str
    first: int
    until: float
    findings: str
    log: str
    kill_every: int = 0  # of so many cases one is also run by the command, and killed


def work(task: Task) -> None:
    """Run cases until the time is over."""
    spark = open_spark()
    for number in range(task.first, task.first + A_LIFE):
        if time.time() > task.until:
            break
        faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
        _note(task, {"begins": number})
        is_killed = bool(task.kill_every) and number % task.kill_every == 0
        came = run_case(spark, f"{task.seed}-{number}", task.findings, is_killed=is_killed)
        _note(task, {"number": number} | came)
    faulthandler.cancel_dump_traceback_later()
    _note(task, {"over": True})


def run_case(
    spark: SparkSession, seed: str, findings: str, *, is_killed: bool = False
) -> dict[str, object]:
    """Run one case in several ways, and write down what is wrong with it."""
    case, tally = draw_case(seed), Tally()
    chance = random.Random(f"{seed} variants")
    variants = [PLAIN, *(draw_variant(chance, case) for _ in range(VARIANTS - 1))]
    if is_killed:
        kills, train = chance.choice((1, 2, 3)), chance.choice((1, 7))
        killed = Variant(train, "files", kills=kills, kill_seed=chance.randrange(1000))
        variants.append(killed)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "run"
        found = judge(spark, case, variants, place, tally)
        told = [_tell(spark, seed, case, each, place, findings) for each in _one_each(found)]
    refused = {"refusals": tally.refusals, "refused": tally.refused}
    return {"counts": tally.counts, "findings": told} | refused


def _one_each(found: list[Finding]) -> list[Finding]:
    """Return the first finding of each query and kind, and of what several have in common."""
    kept: list[Finding] = []
    for finding in found:
        if not any(finding.is_like(other) or finding.text == other.text for other in kept):
            kept.append(finding)
    return kept


def _tell(
    spark: SparkSession, seed: str, case: Case, finding: Finding, place: Path, directory: str
) -> str:
    last = [finding]

    def is_wrong(smaller: Case) -> bool:
        again = judge(spark, smaller, [finding.variant], place, Tally())
        alike = [each for each in again if each.is_like(finding)]
        last[:] = alike[:1] or last
        return bool(alike)

    # A hang costs a whole time-out at each try, a killed command several starts of Spark.
    is_dear = finding.kind == "hang" or finding.variant.kills > 0
    small = case if is_dear else shrink(case, is_wrong, finding.query)
    name = f"{seed}-q{[each.name for each in case.queries].index(finding.query)}"
    return str(write_finding(Path(directory), name, small, last[0]))


def _note(task: Task, what: dict[str, object]) -> None:
    with Path(task.log).open("a") as log:
        log.write(json.dumps(what) + "\n")


if __name__ == "__main__":
    work(Task(**json.loads(sys.argv[1])))
    sys.stdout.flush()
    os._exit(0)  # threads of a system that hangs must not keep the process
