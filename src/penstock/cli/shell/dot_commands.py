"""The shell's own commands: a function each, one registry."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.cli.durations import seconds
from penstock.cli.formats import Format, Width
from penstock.cli.row_printer import Printer
from penstock.client import Connection
from penstock.errors import BadOptionError

if TYPE_CHECKING:  # what a client needs is an extra
    from penstock.remote.connection import RemoteConnection

LOOK_SECONDS = 0.1


class Troubles(Protocol):
    """What tells of new troubles, each as a few lines."""

    def fresh(self) -> list[str]:
        """Return what is new."""
        ...


@dataclass(frozen=True, slots=True)
class ShellContext:
    """What a command may use."""

    connection: "Connection | RemoteConnection"
    printer: Printer
    news: Troubles
    rolling: Callable[[Width], Format]  # makes the format of rows that keep coming

    def tell_news(self) -> None:
        """Tell what went wrong meanwhile."""
        for trouble in self.news.fresh():
            self.printer.screen.say(trouble)


@dataclass(frozen=True, slots=True)
class DotCommand:
    """`.name arguments`: its usage, what it does, and the doing."""

    usage: str
    about: str
    run: Callable[[ShellContext, list[str]], None]


class Leave(Exception):  # noqa: N818  (no error: the user wants to go)
    """The shell is to be left."""


def show_help(around: ShellContext, _: list[str]) -> None:
    """Tell what can be typed."""
    width = max(len(command.usage) for command in DOT_COMMANDS.values())
    lines = [f"  {each.usage:{width}}  {each.about}" for each in DOT_COMMANDS.values()]
    around.printer.screen.say("\n".join([STATEMENTS, *lines, KEYS]))


def leave(_: ShellContext, __: list[str]) -> None:
    """Leave."""
    raise Leave


def watch(around: ShellContext, arguments: list[str]) -> None:
    """Print a query's rows as they come, until Ctrl-C, its end or a number of rows."""
    name, left = _watched(arguments)
    screen = around.printer.screen
    form = around.rolling(screen.columns)
    with around.connection.subscribe(name, after=None) as subscription:
        while not subscription.ended and left != 0:
            for table in subscription.tables(LOOK_SECONDS):
                rows = table if left is None else table.slice(0, left)
                screen.rows(form.rows(name, rows))
                left = None if left is None else left - rows.num_rows
                if left == 0:
                    break
            around.tell_news()
        if subscription.ended:
            screen.say(f"{name} gives no more rows; SELECT * FROM {name} shows them")


def wait(around: ShellContext, arguments: list[str]) -> None:
    """Wait until all sources have ended and everything is delivered, or for some time."""
    left = seconds(arguments[0]) if arguments else None
    while not around.connection.wait(LOOK_SECONDS):
        around.tell_news()
        left = None if left is None else left - LOOK_SECONDS
        if left is not None and left <= 0:
            return


def _watched(arguments: list[str]) -> tuple[str, int | None]:
    match arguments:
        case [name]:
            return name.strip("`;"), None
        case [name, number] if number.strip(";").isdecimal():
            return name.strip("`;"), int(number.strip(";"))
        case _:
            raise BadOptionError("watch what?", hint=DOT_COMMANDS[".watch"].usage)


STATEMENTS = """Statements end with ; and may take many lines:
  CREATE STREAM, CREATE TABLE, CREATE QUERY, DROP, STOP QUERY, RESUME QUERY,
  SHOW STREAMS, SHOW TABLES, SHOW QUERIES, SHOW SHARING, SHOW OPERATORS, SHOW STRATEGY,
  SHOW QOS, SHOW LOAD, SHOW VIEWS (lists what else can be shown),
  SET STRATEGY, SET BATCHING, DESCRIBE, EXPLAIN, EXPLAIN ALL, EXPLAIN SCHEDULE, SELECT
Commands stand on a line of their own:"""
KEYS = "Tab completes, Ctrl-C clears the line or stops waiting, Ctrl-D leaves; queries are kept."

DOT_COMMANDS: dict[str, DotCommand] = {
    ".help": DotCommand(".help", "this", show_help),
    ".quit": DotCommand(".quit", "leave, as Ctrl-D does", leave),
    ".watch": DotCommand(
        ".watch QUERY [n]", "print a query's rows (n of them) as they come", watch
    ),
    ".wait": DotCommand(".wait [30s]", "wait until everything is delivered (or so long)", wait),
}
