"""Runs one case again and prints what is wrong with it."""

import sys
import tempfile
from pathlib import Path

from tests.fuzz.case import Case
from tests.fuzz.judging import Tally, judge
from tests.fuzz.running import Variant
from tests.fuzz.sessions import open_spark


def show(case: Case, variant: Variant) -> None:
    """Print the findings of a case in one way of running it."""
    with tempfile.TemporaryDirectory() as place:
        tally = Tally()
        for finding in judge(open_spark(), case, [variant], Path(place) / "run", tally):
            sys.stdout.write(f"{finding.kind} {finding.query!r}: {finding.text}\n")
        sys.stdout.write(f"{dict(tally.counts)} {dict(tally.refusals)}\n")
