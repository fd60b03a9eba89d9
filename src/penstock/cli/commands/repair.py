"""`penstock repair HOME`: mends what can be mended, after asking; nothing is deleted."""

import argparse
from pathlib import Path

from penstock.cli.commands import check
from penstock.cli.commands.check import print_findings
from penstock.cli.commands.command import Command
from penstock.cli.guard import FAILED
from penstock.runtime.home_check.examine import examine, held
from penstock.runtime.home_check.finding import Finding

ABOUT = """Mend what `penstock check` finds damaged and can be mended: cut torn tails off, go back
to an older checkpoint, move damaged files aside. Nothing is deleted: what is moved lies below the
home's set_aside, or beside the file. Each step is asked for first. Ends with 1 where something is
still not whole."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    check.add_arguments(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask, for scripts")


def run(args: argparse.Namespace) -> int:
    """Mend until nothing is left that can be, or is wanted."""
    with held(Path(args.home)) as home:
        asked: set[tuple[str, str]] = set()
        # One at a time: what is mended may let more be seen, or be all that was wrong.
        found = examine(home)
        while any(_mended(each, asked, sure=args.yes) for each in found):
            found = examine(home)
    print_findings(found)
    return FAILED if any(each.wrong for each in found) else 0


def _mended(finding: Finding, asked: set[tuple[str, str]], *, sure: bool) -> bool:
    """Mend one thing if that can be, is wanted, and was not asked for before."""
    if finding.mend is None or (finding.what, finding.wrong) in asked:
        return False
    asked.add((finding.what, finding.wrong))
    print(f"{finding.what}: {finding.wrong}")
    if not (sure or _asked(finding.remedy)):
        return False
    finding.mend()
    print(f"done: {finding.remedy}")
    return True


def _asked(remedy: str) -> bool:
    try:
        return input(f"  {remedy}? [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, OSError, RuntimeError):  # nobody is there to answer, or input is closed
        print()
        return False


COMMAND = Command(ABOUT, add_arguments, run)
