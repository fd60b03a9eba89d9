"""`penstock explain SCRIPT [QUERY | --all]`: how a script's queries would run."""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from penstock.catalog import SqliteCatalog
from penstock.cli.commands.command import Command
from penstock.cli.commands.settings_flags import add_home_settings, configured
from penstock.cli.formats.table_format import TableFormat
from penstock.cli.home_session import opened
from penstock.cli.screen import Screen
from penstock.cli.scripts import read_script
from penstock.cli.stop_signals import StopSignals
from penstock.client import Connection
from penstock.errors import BadOptionError, PenstockError
from penstock.model.schema import quoted
from penstock.runtime.statements.statements import Statements
from penstock.sql import (
    CreateQuery,
    CreateStream,
    CreateTable,
    Drop,
    Statement,
    parse,
)

ABOUT = """Show how the queries of a script would run: operators, what they share, and the Spark SQL
of each unit; or all of them as one graph. Sources are opened and not read; nothing runs and
nothing is kept."""
FORMS = ("text", "json", "dot")

Create = CreateStream | CreateTable | CreateQuery


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("script", metavar="SCRIPT", help="a .sql file, or - for standard input")
    parser.add_argument("query", metavar="QUERY", nargs="?", help="only this query")
    parser.add_argument("--all", action="store_true", help="draw all queries as one graph")
    parser.add_argument(
        "--format", choices=FORMS, help="how to draw it: text (default), json, or dot for Graphviz"
    )
    parser.add_argument(
        "--home", metavar="DIR", help="let the script read what this home defines, too"
    )
    add_home_settings(parser, home=False)


def run(args: argparse.Namespace) -> int:
    """Print the plans."""
    drawn = _drawn(args)
    statements = parse(read_script(args.script))
    if args.home:
        statements = [*_others(_definitions(Path(args.home)), statements), *statements]
    screen, signals, form = Screen.standard(), StopSignals(), TableFormat()
    with (
        tempfile.TemporaryDirectory(prefix="penstock-explain-") as home,
        opened(replace(configured(args), home=home), screen, signals.listen) as connection,
    ):
        plans = explained(connection, statements, args.query, drawn)
    for plan in plans:
        screen.rows(form.text("", plan))
    return signals.exit_code


def _drawn(args: argparse.Namespace) -> str:
    """Return how all plans are to be drawn as one, or nothing where each is shown by itself."""
    if args.all and args.query:
        raise BadOptionError(f"--all and {args.query}", hint="one query, or all of them")
    if args.format and not args.all:
        raise BadOptionError("--format is for --all", hint="a single plan is text")
    return args.format or "text" if args.all else ""


def explained(
    connection: Connection, statements: list[Statement], query: str | None, drawn: str = ""
) -> list[str]:
    """Return the plans of the queries that the statements make, of one, or all in one drawing.

    Nothing flows.
    """
    system = connection.system
    with system.quiescence.quiesced():
        try:
            for statement in statements:
                if isinstance(statement, Create | Drop):
                    _carry_out(system.statements, statement)
            if drawn:
                return [connection.sql(f"EXPLAIN ALL AS {drawn}").message]
            names = [query] if query else [q.definition.name for q in system.directory.queries()]
            return [connection.sql(f"EXPLAIN {quoted(name)}").message for name in names]
        finally:
            for name in list(system.topology.queries):
                system.queries.withdraw(name)


def _carry_out(statements: Statements, statement: Statement) -> None:
    try:
        statements.carry_out(statement)
    except PenstockError as error:
        if error.place is not None and not error.place.source:
            error.place = replace(error.place, source=statement.place.source)
        raise


def _definitions(home: Path) -> list[Statement]:
    """Return the statements that a home remembers; it may be in use meanwhile."""
    path = home.expanduser() / "catalog.db"
    if not path.is_file():
        raise BadOptionError(
            f"{home} has no catalog: it is no home of Penstock, or that is in PostgreSQL",
            hint="leave --home out",
        )
    catalog = SqliteCatalog(path)
    try:
        return [statement for entry in catalog.all() for statement in parse(entry.text)]
    finally:
        catalog.close()


def _others(known: list[Statement], statements: list[Statement]) -> list[Statement]:
    """Return what is known besides what the statements make anew."""
    made = {each.definition.name.lower() for each in statements if isinstance(each, Create)}
    return [
        each
        for each in known
        if isinstance(each, Create) and each.definition.name.lower() not in made
    ]


COMMAND = Command(ABOUT, add_arguments, run)
