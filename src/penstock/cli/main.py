"""`penstock`: one parser over the registry of commands."""

import argparse
from collections.abc import Sequence

from penstock import __version__
from penstock.cli.commands import COMMANDS
from penstock.cli.guard import guarded

MORE = "penstock COMMAND --help tells more; docs/reference/cli.md tells all."


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line and return its exit code."""
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    return guarded(lambda: args.command.run(args), home=getattr(args, "home", None))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="penstock",
        description="Standing questions over streams, on Spark.",
        epilog=MORE,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for command in COMMANDS:
        one = commands.add_parser(
            command.name, help=command.summary, description=command.about, allow_abbrev=False
        )
        command.add_arguments(one)
        one.set_defaults(command=command)
    return parser
