"""Runs a case in some ways, compares, and tells what is wrong with it."""

import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.fuzz.case import Case
from tests.fuzz.comparing import difference
from tests.fuzz.killing import run_killed
from tests.fuzz.oracle import Unanswered, answers
from tests.fuzz.running import Failed, Outcome, Refused, Variant, run


@dataclass(frozen=True)
class Finding:
    """A query whose answer is wrong in a way of running it."""

    query: str
    kind: str
    text: str
    variant: Variant

    def is_like(self, other: "Finding") -> bool:
        """Say whether both are about the same fault, as far as can be told."""
        return (self.query, self.kind) == (other.query, other.kind)


@dataclass
class Tally:
    """What was done so far."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)  # SQL that Spark takes: what we said


def judge(
    spark: SparkSession, case: Case, variants: list[Variant], place: Path, tally: Tally
) -> list[Finding]:
    """Return what is wrong with a case, run in these ways."""
    expected = answers(spark, case)
    found: list[Finding] = []
    first: dict[str, pa.Table] = {}  # stands in where the batch has no answer
    for variant in variants:
        shutil.rmtree(place, ignore_errors=True)
        outcomes = (run_killed if variant.kills else run)(spark, case, variant, place)
        shutil.rmtree(place, ignore_errors=True)
        for query in case.queries:
            outcome, truth = outcomes[query.name], expected[query.name]
            if isinstance(truth, Unanswered) and query.name in first:
                truth = first[query.name]
            if isinstance(outcome, Refused) and isinstance(truth, pa.Table):
                tally.refused[query.stream] = outcome.text.partition("\n")[0]
            wrong = _weigh(outcome, truth, tally)
            if wrong is not None:
                found.append(Finding(query.name, wrong.kind, wrong.text, variant))
            if isinstance(outcome, pa.Table):
                first.setdefault(query.name, outcome)
    return found


def _weigh(outcome: Outcome, truth: pa.Table | Unanswered, tally: Tally) -> Failed | None:
    """Count an outcome, and return what is wrong with it."""
    if isinstance(outcome, Refused):
        is_agreed = isinstance(truth, Unanswered)
        tally.counts["refused by both" if is_agreed else "refused"] += 1
        tally.refusals[outcome.code] += not is_agreed
        return None
    if isinstance(outcome, Failed):
        # What fails on some rows in Spark may fail here.
        if isinstance(truth, Unanswered) and outcome.kind == "stopped":
            tally.counts["failed in both"] += 1
            return None
        return outcome
    if isinstance(truth, Unanswered):
        tally.counts["not answered by the batch"] += 1
        return None
    tally.counts["comparisons"] += 1
    tally.counts["of them without rows"] += not truth.num_rows
    tally.counts["rows compared"] += truth.num_rows
    text = difference(outcome, truth)
    return Failed("differs", text) if text else None
