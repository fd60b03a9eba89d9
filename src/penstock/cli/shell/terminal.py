"""The shell on a terminal: editing, history, completion, and a line of figures below."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from penstock.cli.live_line import counted, live_line
from penstock.cli.shell.completion import Names, SqlCompleter, known_names
from penstock.cli.shell.dot_commands import DOT_COMMANDS, Leave
from penstock.cli.shell.interpreter import Interpreter
from penstock.cli.shell.statement_end import is_complete
from penstock.client import Connection
from penstock.clock import Clock
from penstock.runtime.quality.live_figures import observe
from penstock.runtime.topology.topology import Topology

PROMPT = "penstock> "
MORE = "      ..> "
REFRESH_SECONDS = 0.5
PLAIN = Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack"})


def read_terminal(connection: Connection, interpreter: Interpreter) -> None:
    """Read and carry out until the user leaves."""
    system = connection.system
    toolbar = Toolbar(system.topology, system.clock)
    names = partial(known_names, system.directory)
    read_lines(make_session(names, toolbar, system.home.path / "history"), interpreter)


def read_lines(session: PromptSession[str], interpreter: Interpreter) -> None:
    """Read and carry out until the user leaves."""
    while True:
        try:
            text = session.prompt(PROMPT)
        except KeyboardInterrupt:
            continue  # the line is cleared
        except EOFError:
            return
        try:
            interpreter.carry_out(text)
        except KeyboardInterrupt:
            interpreter.interrupted()
        except Leave:
            return


def make_session(
    names: Callable[[], Names], toolbar: Callable[[], str], history: Path
) -> PromptSession[str]:
    """Return the prompt: Enter goes on to a new line until the statement is whole."""
    return PromptSession(
        multiline=True,
        prompt_continuation=MORE,
        history=FileHistory(history),
        auto_suggest=AutoSuggestFromHistory(),
        completer=SqlCompleter(names, tuple(DOT_COMMANDS)),
        complete_while_typing=False,
        key_bindings=_keys(),
        bottom_toolbar=toolbar,
        refresh_interval=REFRESH_SECONDS,
        style=PLAIN,
    )


class Toolbar:
    """The figures of now, not looked up more often than they change."""

    def __init__(self, topology: Topology, clock: Clock) -> None:
        self._topology, self._clock, self._began = topology, clock, time.monotonic()
        self._drawn, self._text = 0.0, ""

    def __call__(self) -> str:
        now = time.monotonic()
        if now - self._drawn >= REFRESH_SECONDS:
            queries = counted(len(self._topology.queries), "query", "queries")
            figures = observe(self._topology, self._clock.now())
            line = live_line(figures, now - self._began)
            self._drawn, self._text = now, f"{queries}  {line}"
        return self._text


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # take the completion, and no more
        elif is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline()

    return keys


def is_whole(text: str) -> bool:
    """Say whether Enter carries the text out."""
    bare = text.strip()
    return not bare or bare.startswith(".") or is_complete(text)
