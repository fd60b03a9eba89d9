"""The shell without a terminal: statements from standard input, one after the other."""

from collections.abc import Iterable

from penstock.cli.scripts import decoded
from penstock.cli.shell.dot_commands import Leave
from penstock.cli.shell.interpreter import Interpreter
from penstock.cli.shell.statement_end import is_complete


def read_piped(lines: Iterable[bytes], interpreter: Interpreter) -> int:
    """Carry out each statement when its `;` is read, and return the exit code.

    An error does not end the rest; the exit code tells of the first.
    """
    held, before = "", 0
    try:
        for number, raw in enumerate(lines, start=1):
            held += decoded(raw, "of standard input")
            if is_complete(held) or held.lstrip().startswith(".") or not held.strip():
                _carry_out(held, before, interpreter)
                held, before = "", number
        _carry_out(held, before, interpreter)
    except Leave:
        pass
    return interpreter.code


def _carry_out(text: str, before: int, interpreter: Interpreter) -> None:
    if text.strip():
        # The lines before it make the places in errors those of the whole input.
        interpreter.carry_out("\n" * before + text)
