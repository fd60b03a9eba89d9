"""`penstock run SCRIPT --url URL`: let a server run a script, and print the rows of its queries."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.cli.formats import FORMATS
from penstock.cli.guard import FAILED
from penstock.cli.remote.arguments import connected
from penstock.cli.remote.news import ServerNews
from penstock.cli.row_printer import Printer
from penstock.cli.screen import Screen
from penstock.cli.stop_signals import StopSignals
from penstock.runtime.durable.result_row import START
from penstock.sql import CreateQuery, Statement

if TYPE_CHECKING:  # what a client needs is an extra
    from penstock.remote.connection import RemoteConnection
    from penstock.remote.subscription import RemoteSubscription

LOOK_SECONDS = 0.05
STATES_SECONDS = 0.5
STATES = "SELECT query, state FROM system.queries"
OVER = {"FINISHED", "FAILED", "STOPPED"}
LEFT = "left; what the script made goes on in the server"


def run_on_server(args: argparse.Namespace, text: str, statements: Sequence[Statement]) -> int:
    """Carry the script out, and print rows until its queries end, a time is up, or a signal."""
    screen, signals = Screen.standard(), StopSignals()
    signals.listen()
    with connected(args) as connection:
        printer = Printer(FORMATS[args.format](screen.columns), screen)
        before = _states(connection)
        news = ServerNews(connection)
        for statement, result in zip(statements, connection.script(text), strict=True):
            printer.result(statement, result)
        made = [each.definition for each in statements if isinstance(each, CreateQuery)]
        followed = {
            each.name: connection.subscribe(each.name, after=None if each.name in before else START)
            for each in made
            if each.sink is None
        }
        until = None if args.seconds is None else time.monotonic() + args.seconds
        names = {each.name for each in made}
        run = _Run(connection, printer, news, names, followed, until)
        code = run.follow(signals)
    if signals.received is not None:
        screen.say(LEFT)
        return signals.exit_code
    return code


@dataclass(slots=True)
class _Run:
    """Queries that are followed until they are over."""

    connection: "RemoteConnection"
    printer: Printer
    news: ServerNews
    names: set[str]
    followed: "dict[str, RemoteSubscription]"
    until: float | None
    _asked: float = 0.0
    _known: dict[str, str] = field(default_factory=dict)

    def follow(self, signals: StopSignals) -> int:
        """Print rows until it is over; return the exit code."""
        while signals.received is None and (self.until is None or time.monotonic() < self.until):
            came = self._print()
            for trouble in self.news.fresh():
                self.printer.screen.say(trouble)
            if not came and self._is_over():
                break
            if not came:
                time.sleep(LOOK_SECONDS)
        for subscription in self.followed.values():
            subscription.close()
        return FAILED if "FAILED" in self._now().values() else 0

    def _print(self) -> bool:
        """Print what is there, and say whether anything was."""
        came = False
        for name, subscription in self.followed.items():
            for table in subscription.tables(0):
                self.printer.rows(name, table)
                came = True
        return came

    def _is_over(self) -> bool:
        """Say whether all queries have ended and their rows are printed."""
        if time.monotonic() < self._asked + STATES_SECONDS:
            return False
        self._asked, self._known = time.monotonic(), self._now()
        if any(state not in OVER for state in self._known.values()):
            return False
        finished = (n for n, state in self._known.items() if state == "FINISHED")
        return all(self.followed[n].ended for n in finished if n in self.followed)

    def _now(self) -> dict[str, str]:
        return {n: s for n, s in _states(self.connection).items() if n in self.names}


def _states(connection: "RemoteConnection") -> dict[str, str]:
    table = connection.sql(STATES).table
    rows = table.to_pylist() if table is not None else []
    return {row["query"]: row["state"] for row in rows}
