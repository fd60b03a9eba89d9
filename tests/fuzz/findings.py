"""Findings on disk: a script that shows the fault again, with the case in it."""

import re
from pathlib import Path

from tests.fuzz.case import Case
from tests.fuzz.judging import Finding

SCRIPT = '''"""{kind} of {query!r}, {variant}; found by seed {seed}.

{told}
"""

import datetime
from decimal import Decimal
from math import inf, nan
from zoneinfo import ZoneInfo

from tests.e2e.oracle.queries import Query
from tests.fuzz.again import show
from tests.fuzz.case import Case, Relation
from tests.fuzz.columns import Field
from tests.fuzz.running import Variant

CASE = {case}
VARIANT = {way}

if __name__ == "__main__":
    show(CASE, VARIANT)
'''


def write_finding(directory: Path, seed: str, case: Case, finding: Finding) -> Path:
    """Write a finding as a script of its own."""
    query = next(each for each in case.queries if each.name == finding.query)
    told = f"{finding.text[-3000:]}\n\nstream: {query.stream}\nbatch:  {query.batch}"
    path = directory / f"{re.sub(r'[^0-9A-Za-z]+', '_', seed)}_{finding.kind}.py"
    directory.mkdir(parents=True, exist_ok=True)
    path.write_text(
        SCRIPT.format(
            kind=finding.kind,
            query=finding.query,
            variant=finding.variant,
            seed=seed,
            told=told.replace("\\", "\\\\").replace('"""', "'''"),
            case=repr(case),
            way=repr(finding.variant),
        )
    )
    return path
