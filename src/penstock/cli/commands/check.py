"""`penstock check HOME`: what of a home is whole, and what is not."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from penstock.cli.commands.command import DEFAULT_HOME, Command
from penstock.cli.guard import FAILED
from penstock.runtime.home_check.examine import examine, held
from penstock.runtime.home_check.finding import Finding

ABOUT = """Look at everything that a home keeps: catalog, journal, checkpoints, push logs, archives,
results and the files of sinks. Nothing is changed, and nobody may have the home open. Ends with 1
where something is not whole."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "home",
        metavar="HOME",
        nargs="?",
        default=DEFAULT_HOME,
        help="the home to look at (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Print what is found."""
    with held(Path(args.home)) as home:
        found = examine(home)
    print_findings(found)
    return FAILED if any(each.wrong for each in found) else 0


def print_findings(found: Sequence[Finding]) -> None:
    """Print what is whole on a line each, and what is not with what a repair would do."""
    for each in found:
        if not each.wrong:
            print(f"whole    {each.what}")
            continue
        print(f"damaged  {each.what}: {each.wrong}")
        print(f"         {repair_of(each)}")


def repair_of(finding: Finding) -> str:
    """Return what can be done about a finding."""
    if finding.mend is None:
        return "restore it from a copy: penstock repair cannot mend it"
    return f"penstock repair would {finding.remedy}"


COMMAND = Command(ABOUT, add_arguments, run)
