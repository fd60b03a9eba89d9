"""`penstock sql`: a shell."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from penstock import __version__
from penstock.cli.commands.command import Command, add_format
from penstock.cli.commands.settings_flags import add_home_settings, configured
from penstock.cli.formats import FORMATS
from penstock.cli.formats.rolling_table import RollingTable
from penstock.cli.formats.table_format import TableFormat
from penstock.cli.home_session import opened
from penstock.cli.live_line import counted
from penstock.cli.news import news_of
from penstock.cli.remote.arguments import add_server
from penstock.cli.remote.shell import run_shell
from penstock.cli.row_printer import Printer
from penstock.cli.screen import Screen
from penstock.cli.shell.dot_commands import ShellContext
from penstock.cli.shell.interpreter import Interpreter
from penstock.cli.shell.piped import read_piped
from penstock.cli.shell.terminal import read_terminal
from penstock.runtime.names.directory import Directory

ABOUT = """A shell for statements. On a terminal it edits, remembers and completes; statements may
also be piped in. Leaving writes a checkpoint; queries go on when the home is opened again. With
--url it is a shell over a server, where queries go on by themselves."""
TERMINAL_ROWS = 1000  # of one result: more would push everything else off the screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_format(parser)
    add_home_settings(parser)
    add_server(parser)


def run(args: argparse.Namespace) -> int:
    """Read statements until the end of the input."""
    typed = sys.stdin.isatty()
    screen = Screen.standard()
    most = TERMINAL_ROWS if typed and sys.stdout.isatty() else None
    if args.url:
        return run_shell(args, most)
    with opened(configured(args), screen, listen) as connection:
        form = FORMATS[args.format]
        rolling = RollingTable if form is TableFormat else form
        printer = Printer(form(screen.columns), screen, most_rows=most)
        around = ShellContext(connection, printer, news_of(connection), rolling)
        interpreter = Interpreter(around)
        around.tell_news()
        if not typed:
            return read_piped(sys.stdin.buffer, interpreter)
        screen.say(greeting(connection.system.directory, connection.system.home.path))
        read_terminal(connection, interpreter)
        if connection.system.topology.queries:
            screen.say("queries are kept, and go on when this home is opened again")
    return 0


def greeting(directory: Directory, home: Path) -> str:
    """Return the first lines of a session."""
    streams, queries = list(directory.streams()), list(directory.queries())
    return (
        f"Penstock {__version__}, home {home}: "
        f"{counted(len(streams), 'stream', 'streams')}, "
        f"{counted(len(queries), 'query', 'queries')}\n"
        "Statements end with ;   .help helps   Ctrl-D leaves"
    )


def listen() -> None:
    """Interrupt on Ctrl-C, and leave in good order on SIGTERM."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, _: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the checkpoint is coming
    raise SystemExit(128 + number)


COMMAND = Command(ABOUT, add_arguments, run)
