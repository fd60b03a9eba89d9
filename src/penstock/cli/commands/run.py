"""`penstock run SCRIPT`: run a script and print the rows of its queries."""

import argparse
import signal
import time
from dataclasses import dataclass

from penstock.cli.commands.command import Command, add_format
from penstock.cli.commands.settings_flags import add_home_settings, configured
from penstock.cli.durations import seconds
from penstock.cli.formats import FORMATS
from penstock.cli.guard import FAILED
from penstock.cli.home_session import opened
from penstock.cli.leftovers import leftovers
from penstock.cli.news import News, news_of
from penstock.cli.remote.arguments import add_server
from penstock.cli.remote.run import run_on_server
from penstock.cli.row_printer import Printer, tap_of
from penstock.cli.run_progress import Until, follow
from penstock.cli.screen import Screen
from penstock.cli.script_merge import go_on, stand
from penstock.cli.scripts import read_script
from penstock.cli.stop_signals import StopSignals
from penstock.client import Connection
from penstock.errors import SparkDiedError
from penstock.server.configuration import Configuration
from penstock.sql import (
    CreateBase,
    CreateEvent,
    CreateFunction,
    CreatePerspective,
    CreateQuery,
    CreateRule,
    CreateStream,
    CreateTable,
    CreateType,
    Statement,
    parse,
)

Create = (
    CreateStream
    | CreateTable
    | CreateType
    | CreateFunction
    | CreateQuery
    | CreateEvent
    | CreateRule
    | CreateBase
    | CreatePerspective
)

ABOUT = """Run a script. Rows of queries without INTO go to standard output, all else to standard
error. Without --until-idle or --for it runs until Ctrl-C, which writes a checkpoint: the same
command goes on from there. With --url a server runs it; the command ends when the script's queries
have ended, and where it ends before, they go on."""

STOPPING = {
    signal.SIGINT: "stopping: what runs is finished and kept (Ctrl-C again leaves at once)",
    signal.SIGTERM: "stopping: what runs is finished and kept",
}
CATCHING_UP = "doing again what was not finished …"
STANDING = "setting up streams and queries …"
GO_ON = "stopped; run the same command again to go on"
GO_ON_IF = "stopped; CREATE … IF NOT EXISTS in the script would let the same command go on"
RESTARTS = 3  # of Spark, in one run: one that dies so often would die again
NOTHING_RUNS = "no query runs: all have ended or are stopped; another --home starts afresh"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("script", metavar="SCRIPT", help="a .sql file, or - for standard input")
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument(
        "--until-idle",
        action="store_true",
        help="end when every source has ended and everything is delivered",
    )
    ends.add_argument(
        "--for", dest="seconds", type=seconds, metavar="TIME", help="end after 30s, 5m, 1h30m"
    )
    add_format(parser)
    add_home_settings(parser)
    add_server(parser)


def run(args: argparse.Namespace) -> int:
    """Run the script to its end, or to a signal; where Spark dies, on another Spark."""
    text = read_script(args.script)
    statements = parse(text)  # before Spark starts: most mistakes are told at once
    if args.url:
        return run_on_server(args, text, statements)
    attempt = Attempt(args, configured(args), text, statements, Screen.standard(), StopSignals())
    while True:
        try:
            return attempt.run()
        except SparkDiedError as error:
            attempt.begin_again(error)


@dataclass(slots=True)
class Attempt:
    """One command line, on one Spark after the other; the script is carried out once."""

    args: argparse.Namespace
    configuration: Configuration
    text: str
    statements: list[Statement]
    screen: Screen
    signals: StopSignals
    stands: bool = False
    restarts: int = 0
    _ends: float | None = None

    def begin_again(self, error: SparkDiedError) -> None:
        """Say that another Spark is tried, or raise the error."""
        if not self.stands or self.restarts >= RESTARTS or self.signals.received is not None:
            raise error
        self.restarts += 1
        self.screen.say(f"{error.code}: {error.message}; it is started again")

    def run(self) -> int:
        """Open the home and let it flow to the end."""
        args, screen, signals = self.args, self.screen, self.signals
        with opened(self.configuration, screen, signals.listen, begin=False) as connection:
            printer = Printer(FORMATS[args.format](screen.columns), screen)
            connection.tap(
                tap_of(connection.system.directory, printer)
            )  # before anything can be delivered
            screen.live(CATCHING_UP)
            news = news_of(connection)
            if go_on(connection, signals):
                news = self._stand(connection, printer)
                follow(connection, news, screen, signals, Until(args.until_idle, self._left()))
            if signals.received is not None:
                screen.say(STOPPING[signals.received])
            aside = leftovers(connection.system.inspected)
        for each in aside:
            screen.say(each.text)
        if signals.received is not None:
            screen.say(GO_ON if all(map(_can_stand_again, self.statements)) else GO_ON_IF)
            return signals.exit_code
        lost = any(each.is_loss for each in aside)
        return _failures_told(screen, news) or (FAILED if lost else 0)

    def _stand(self, connection: Connection, printer: Printer) -> News:
        """Make the script stand, unless it does, and return what tells of trouble."""
        if not self.stands:
            self.screen.live(STANDING)
            results = stand(connection, self.text, must_end=self.args.until_idle)
            self.stands = True
            for statement, result in zip(self.statements, results, strict=True):
                printer.result(statement, result)
        news = news_of(connection)
        if not news.runs():
            self.screen.say(NOTHING_RUNS)
        return news

    def _left(self) -> float | None:
        """Return how many seconds are left of the time that was given."""
        if self.args.seconds is None:
            return None
        now = time.monotonic()
        self._ends = self._ends or now + self.args.seconds
        return max(0.0, self._ends - now)


def _can_stand_again(statement: Statement) -> bool:
    """Say whether the statement can be carried out where it has been already."""
    if isinstance(statement, Create):
        return statement.if_not_exists or statement.or_replace
    return True


def _failures_told(screen: Screen, news: News) -> int:
    for trouble in news.fresh():
        screen.say(trouble)
    if not (failed := news.failed()):
        return 0
    names = ", ".join(failed)
    screen.say(
        f"failed: {names}; SHOW QUERIES shows why, and RESUME QUERY goes on where it stood"
        " once the cause is gone"
    )
    return FAILED


COMMAND = Command(ABOUT, add_arguments, run)
