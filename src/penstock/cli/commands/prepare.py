"""`penstock prepare`: an archive of Java's classes, with which Spark starts in half of the time."""

import argparse

from penstock.cli.commands.command import Command
from penstock.engine.spark.application.class_archive import archive_path, make_archive

ABOUT = """Make an archive of the classes that Spark loads at its start, for the Java and the Spark
of this environment. It takes about a minute and 190 MB, in the virtual environment or else in the
user's cache. From then on Spark starts in about half of the time. Run it again after another
Java or Spark was installed; where the archive fits, nothing is done."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--again", action="store_true", help="make it anew where there is one")
    parser.set_defaults(home=None)  # no home is opened


def run(args: argparse.Namespace) -> int:
    """Make the archive, unless it is there."""
    path = archive_path()
    if path.is_file() and not args.again:
        print(f"Spark's class archive is there: {path}")
        return 0
    print("Making Spark's class archive, which takes about a minute", flush=True)
    print(f"made {make_archive()}")
    return 0


COMMAND = Command(ABOUT, add_arguments, run)
