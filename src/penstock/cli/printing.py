"""Result rows on their way to standard output."""

from penstock.cli.formats import Format
from penstock.cli.screen import Screen
from penstock.engine.sinks.sink import Delivery
from penstock.runtime.execute import Result
from penstock.runtime.system import System
from penstock.sql import Explain, Statement


class Printer:
    """Prints what queries without INTO deliver, and what statements give."""

    def __init__(self, system: System, form: Format, screen: Screen) -> None:
        self._system, self._form, self._screen = system, form, screen
        self.printed = 0

    def deliver(self, delivery: Delivery) -> None:
        """Print a delivery; a tap: what returns counts as delivered, so nothing is lost."""
        known = self._system.directory.query(delivery.query)
        if known.definition.sink is None:
            self._screen.rows(self._form.rows(delivery.query, delivery.rows))
            self.printed += delivery.rows.num_rows

    def result(self, statement: Statement, result: Result) -> None:
        """Print what a statement gave: rows and plans as results, sentences beside them."""
        text = one_line(statement.text)
        if result.table is not None:
            self._screen.rows(self._form.table(text, result.table))
        elif isinstance(statement, Explain):
            self._screen.rows(self._form.text(text, result.message))
        elif result.message:
            self._screen.say(result.message)


def one_line(text: str) -> str:
    """Return a statement's text with its white space made single."""
    return " ".join(text.split())
