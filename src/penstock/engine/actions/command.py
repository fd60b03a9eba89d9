"""command(program => '/usr/bin/logger', args => array('-t', room)): a program, without a shell.

Every argument is one value, whole: nothing that a tuple holds is read as syntax by anybody but the
program. Only programs that the operator has allowed are started, named by their whole path, in an
environment that has nothing of ours but the key and the rule's name. The tuples come as JSON on
standard input.
"""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from penstock.engine.actions.action import TriggerBatch
from penstock.engine.allowed import Allowed
from penstock.engine.options import Declared, Kind, read_options, text
from penstock.errors import ActionError, BadOptionError, NotAllowedError
from penstock.model.definitions import Connector, Expression, Option

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")
LEFT_OF_ERRORS = 200  # characters of what the program wrote last to standard error


def _array(value: Option) -> Expression:
    if not isinstance(value, Expression):
        raise ValueError("must be an array, such as array('-t', room)")  # noqa: TRY004
    return value


OPTIONS = {"program": Declared(text, required=True), "args": Declared(Kind("array", _array))}


class ProgramCall:
    """One program to start; the arguments are what the rule has made of the tuples."""

    def __init__(self, connector: Connector) -> None:
        self._program: str = read_options(connector, OPTIONS)["program"]
        if not Path(self._program).is_absolute():
            raise BadOptionError(
                f"the program {self._program} of a command is named by its whole path",
                hint="command(program => '/usr/bin/logger', args => array(room))",
            )

    def check(self, allowed: Allowed) -> None:
        if self._program not in allowed.programs:
            raise NotAllowedError(
                f"no rule may start {self._program}",
                hint="the operator allows programs: allow.commands of a server, "
                "connect(commands=[…]), or a line of the file `commands` in the home",
            )

    def perform(self, trigger_batch: TriggerBatch, seconds: float) -> None:
        if self._program not in trigger_batch.allowed.programs:
            raise ActionError(f"no rule may start {self._program} any more")
        for arguments in _arguments(trigger_batch):
            self._run([self._program, *arguments], trigger_batch, seconds)

    def _run(self, words: list[str], trigger_batch: TriggerBatch, seconds: float) -> None:
        passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        told = {"PENSTOCK_KEY": trigger_batch.key, "PENSTOCK_RULE": trigger_batch.rule}
        try:
            process = subprocess.Popen(  # noqa: S603  (allowed by the operator, and no shell)
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=passed | told,
                cwd="/",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: an argument with a zero byte
            raise ActionError(f"{self._program} cannot be started: {error}") from None
        with process:
            try:
                _, errors = process.communicate(trigger_batch.json(), timeout=seconds)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                raise ActionError(f"{self._program} took longer than {seconds:g} s") from None
        if process.returncode:
            said = errors.decode(errors="replace").strip()[-LEFT_OF_ERRORS:]
            raise ActionError(
                f"{self._program} ended with {process.returncode}: {said}".rstrip(": ")
            )


def _arguments(trigger_batch: TriggerBatch) -> list[list[str]]:
    """Return the arguments of each start: one for each tuple, or one without arguments."""
    if trigger_batch.made is None:
        return [[]]
    made = trigger_batch.made.column(0).to_pylist()
    return [["" if each is None else each for each in words or ()] for words in made]
