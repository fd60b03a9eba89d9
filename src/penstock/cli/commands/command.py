"""What a command is, and the options that several share."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from penstock.cli.formats import FORMATS
from penstock.cli.home_session import Grants

DEFAULT_HOME = ".penstock"
DEFAULT_MASTER = "local[*]"
# The option, the argument of connect, and what help says; each may be given more than once.
DOORS = (
    ("--writable", "writable", ("DIR", "let statements write files there, besides from here down")),
    ("--readable", "readable", ("DIR", "let them read files there, and nowhere else but here")),
    ("--allow-host", "hosts", ("HOST", "let connectors and rules reach it, as host or host:port")),
    ("--allow-format", "formats", ("NAME", "let spark(format => …) read this format, too")),
)


@dataclass(frozen=True, slots=True)
class Command:
    """What a command's help says, its arguments, and its work; `run` returns an exit code."""

    about: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def add_home(parser: argparse.ArgumentParser) -> None:
    """Add --home, where definitions, state and results are kept."""
    parser.add_argument(
        "--home",
        default=DEFAULT_HOME,
        metavar="DIR",
        help="where definitions, progress and results are kept (default: %(default)s)",
    )


def add_master(parser: argparse.ArgumentParser) -> None:
    """Add --master, the Spark to run on."""
    parser.add_argument(
        "--master",
        default=DEFAULT_MASTER,
        metavar="URL",
        help="the Spark master to run on (default: %(default)s, this machine)",
    )


def add_doors(parser: argparse.ArgumentParser) -> None:
    """Add what the operator opens for the statements."""
    for option, name, what in DOORS:
        parser.add_argument(
            option, dest=name, action="append", default=[], metavar=what[0], help=what[1]
        )


def grants(args: argparse.Namespace) -> Grants:
    """Return what the operator opens."""
    return Grants(
        formats=args.formats, hosts=args.hosts, writable=args.writable, readable=args.readable
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add --format, how results look."""
    parser.add_argument(
        "--format",
        default="table",
        choices=sorted(FORMATS),
        help="how results are printed (default: %(default)s)",
    )
