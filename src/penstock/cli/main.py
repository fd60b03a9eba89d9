"""`penstock`: one parser over the registry of commands."""

import argparse
import sys
from collections.abc import Sequence

from penstock import __version__
from penstock.cli.commands import COMMANDS, load
from penstock.cli.guard import guarded
from penstock.cli.stop_signals import sigterm_blocked
from penstock.errors import BadOptionError

MORE = "penstock COMMAND --help tells more; docs/reference/cli.md tells all."


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: carry_out(words))


def carry_out(words: Sequence[str]) -> int:
    """Carry out a command line; a defect of the command leaves its trace in the home."""
    parser = make_parser(words)
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return 0
    if args.home is not None and not args.home.strip():
        raise BadOptionError("--home names no directory", hint="leave it out for the default")
    return guarded(lambda: args.command.run(args), home=args.home)


def make_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands, with the arguments of the one that is meant."""
    parser = argparse.ArgumentParser(
        prog="penstock",
        description="Standing questions over streams, on Spark.",
        epilog=MORE,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        one = commands.add_parser(name, help=summary, allow_abbrev=False)
        if name in words:
            with sigterm_blocked():  # in the threads that libraries start, too: see stop_signals
                command = load(name)
            one.description = command.about
            command.add_arguments(one)
            one.set_defaults(command=command)
    return parser
