"""What a command is, and the options that several share."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from penstock.cli.formats import FORMATS

DEFAULT_HOME = ".penstock"


@dataclass(frozen=True, slots=True)
class Command:
    """What a command's help says, its arguments, and its work; `run` returns an exit code."""

    about: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add --format, how results look."""
    parser.add_argument(
        "--format",
        default="table",
        choices=sorted(FORMATS),
        help="how results are printed (default: %(default)s)",
    )
