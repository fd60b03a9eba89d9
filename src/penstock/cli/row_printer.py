"""Result rows on their way to standard output."""

import pyarrow as pa

from penstock.cli.formats import Format
from penstock.cli.live_line import counted
from penstock.cli.screen import Screen
from penstock.engine.sinks.sink import Delivery
from penstock.runtime.names.directory import Directory
from penstock.runtime.statements.result import Result
from penstock.runtime.work.live_query import Tap
from penstock.sql import Explain, ExplainAll, ExplainSchedule, Statement


class Printer:
    """Prints what queries deliver and what statements give, in one format on one screen."""

    def __init__(self, form: Format, screen: Screen, *, most_rows: int | None = None) -> None:
        """Print at most that many rows of a statement's result, or all."""
        self._form, self.screen, self._most_rows = form, screen, most_rows

    def rows(self, query: str, rows: pa.Table) -> None:
        """Print rows of a query."""
        self.screen.rows(self._form.rows(query, rows))

    def result(self, statement: Statement, result: Result) -> None:
        """Print what a statement gave: rows and plans as results, sentences beside them."""
        text = one_line(statement.text)
        if result.table is not None:
            self._table(text, result.table)
        elif isinstance(statement, Explain | ExplainAll | ExplainSchedule):
            self.screen.rows(self._form.text(text, result.message))
        elif result.message:
            self.screen.say(result.message)

    def _table(self, text: str, table: pa.Table) -> None:
        shown = table if self._most_rows is None else table.slice(0, self._most_rows)
        self.screen.rows(self._form.table(text, shown))
        if rest := table.num_rows - shown.num_rows:
            more = counted(rest, "row", "rows")
            self.screen.say(f"… and {more} more; with the output in a file, all are written")


def tap_of(directory: Directory, printer: Printer) -> Tap:
    """Return a tap that prints what queries without INTO deliver.

    What it returns from counts as delivered, so a slow reader loses nothing.
    """

    def tap(delivery: Delivery) -> None:
        if directory.query(delivery.query).definition.sink is None:
            printer.rows(delivery.query, delivery.rows)

    return tap


def one_line(text: str) -> str:
    """Return a statement's text with its white space made single."""
    return " ".join(text.split())
