"""What is done with a piece of typed text: SQL, or a dot command."""

import argparse

from penstock.cli.guard import WRONG, exit_code
from penstock.cli.shell.dot_commands import DOT_COMMANDS, ShellContext
from penstock.cli.shell.patience import Patience
from penstock.engine.options import near_miss
from penstock.errors import BadOptionError, PenstockError
from penstock.sql import parse

UNSEEN = "not waited for any longer; it is finished all the same, and its rows are not shown"


class Interpreter:
    """Carries out what is typed; `code` is the exit code of the first that failed."""

    def __init__(self, around: ShellContext) -> None:
        self._around = around
        self._patience = Patience()
        self.code = 0

    def carry_out(self, text: str) -> None:
        """Carry out statements or a dot command; errors are told, not raised."""
        if not text.strip():
            return
        try:
            if text.lstrip().startswith("."):
                self._command(text.split())
            else:
                self._statements(text)
        except PenstockError as error:
            self._failed(str(error), exit_code(error))
        except argparse.ArgumentTypeError as error:
            self._failed(str(error), WRONG)
        self._around.tell_news()

    def interrupted(self) -> None:
        """Tell what Ctrl-C did: a dot command has ended, a statement goes on."""
        self._around.printer.screen.clear()  # of the ^C
        if self._patience.is_busy:
            self._around.printer.screen.say(UNSEEN)

    def _statements(self, text: str) -> None:
        statements = parse(text)
        results = self._patience.wait_for(lambda: self._around.connection.script(text))
        for statement, result in zip(statements, results, strict=True):
            self._around.printer.result(statement, result)

    def _command(self, words: list[str]) -> None:
        name, *arguments = words
        if (command := DOT_COMMANDS.get(name.rstrip(";").lower())) is None:
            hint = near_miss(name, DOT_COMMANDS)
            raise BadOptionError(f"there is no command {name}", hint=hint)
        command.run(self._around, arguments)

    def _failed(self, told: str, code: int) -> None:
        self._around.printer.screen.say(told)
        self.code = self.code or code
