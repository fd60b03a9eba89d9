"""CALL name: a Python function that the client has registered."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.engine.actions.action import TriggerBatch
from penstock.engine.actions.within import within
from penstock.errors import ActionError

Function = Callable[[pa.Table, str], object]


@dataclass(slots=True)
class Callables:
    """Functions by their names, in lower case; each is told the tuples and the firing's key.

    One that hangs is left behind, and not called again before it has come back: nobody can stop a
    thread, and they must not become many.
    """

    known: dict[str, Function] = field(default_factory=dict)
    _hanging: dict[str, threading.Event] = field(default_factory=dict)

    def register(self, name: str, function: Function) -> None:
        """Make a function known, in the place of another of that name."""
        self.known[name.lower()] = function

    def perform(self, name: str, trigger_batch: TriggerBatch, seconds: float) -> None:
        """Call the function within so many seconds, or raise ActionError."""
        function = self.known.get(name)
        if function is None:
            raise ActionError(f"no action {name} is registered", hint="connect(actions={…})")
        last = self._hanging.get(name)
        if last is not None and not last.is_set():
            raise ActionError(f"action {name} still hangs from an earlier call")
        back = threading.Event()

        def call() -> None:
            try:
                function(trigger_batch.rows, trigger_batch.key)
            except (Exception, SystemExit) as error:  # it may raise anything
                raise ActionError(
                    f"action {name} raised {type(error).__name__}: {error}"
                ) from error
            finally:
                back.set()

        def hangs() -> None:
            self._hanging[name] = back

        within(seconds, call, hangs)
