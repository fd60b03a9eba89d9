"""The shell over a server: the same statements, completion and commands."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import __version__
from penstock.cli.formats import FORMATS
from penstock.cli.formats.rolling_table import RollingTable
from penstock.cli.formats.table_format import TableFormat
from penstock.cli.remote.arguments import connected
from penstock.cli.remote.news import ServerNews
from penstock.cli.row_printer import Printer
from penstock.cli.screen import Screen
from penstock.cli.shell.completion import Names
from penstock.cli.shell.dot_commands import ShellContext
from penstock.cli.shell.interpreter import Interpreter
from penstock.cli.shell.piped import read_piped
from penstock.cli.shell.terminal import make_session, read_lines
from penstock.errors import PenstockError

if TYPE_CHECKING:  # what a client needs is an extra
    from penstock.remote.connection import RemoteConnection

HISTORY = ".penstock_history"  # of shells over servers, in the user's own directory
NAMES = "SELECT stream AS name FROM system.streams UNION ALL SELECT query FROM system.queries"
NAMES_SECONDS = 5.0  # for which names are remembered: Tab must be quick


def run_shell(args: argparse.Namespace, most: int | None) -> int:
    """Read statements until the end of the input."""
    screen, form = Screen.standard(), FORMATS[args.format]
    rolling = RollingTable if form is TableFormat else form
    with connected(args) as connection:
        printer = Printer(form(screen.columns), screen, most_rows=most)
        around = ShellContext(connection, printer, ServerNews(connection), rolling)
        interpreter = Interpreter(around)
        if not sys.stdin.isatty():
            return read_piped(sys.stdin.buffer, interpreter)
        screen.say(f"Penstock {__version__}, {args.url}")
        screen.say("Statements end with ;   .help helps   Ctrl-D leaves")
        known = KnownNames(connection)
        read_lines(make_session(known, lambda: args.url, Path.home() / HISTORY), interpreter)
    return 0


class KnownNames:
    """The names that Tab completes, asked for now and then."""

    def __init__(self, connection: "RemoteConnection") -> None:
        self._connection = connection
        self._names: Names = {}
        self._asked = -NAMES_SECONDS

    def __call__(self) -> Names:
        """Return what there is, without columns."""
        now = time.monotonic()
        if now >= self._asked + NAMES_SECONDS:
            self._asked = now
            try:
                table = self._connection.sql(NAMES).table
            except PenstockError:
                return self._names
            names = table["name"].to_pylist() if table is not None else []
            self._names = dict.fromkeys(names, ())
        return self._names
