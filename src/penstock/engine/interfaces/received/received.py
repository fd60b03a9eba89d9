"""A source that receives: messages are in a log, on disk, before the other side hears of it.

A thread of the source's own runs its `Receiver`, anew with growing pauses where it breaks. What it
brings goes into the log that `push` has; a boundary is one of that log. From there on each message
is read exactly once; a receiver says how often it comes before.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from penstock.engine.interfaces.interface import Boundary, Ingest, Offer, Surroundings
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.interfaces.received.messages import (
    MESSAGES,
    Message,
    MessageReader,
    table_of_messages,
)
from penstock.engine.options import Declared, flag, whole
from penstock.errors import PenstockError, SourceError, describe
from penstock.model.definitions import Connector, StreamDefinition

LOG_OPTIONS = {
    "sync": Declared(flag, default=True, about="what came survives a loss of power, too"),
    "rows_per_train": Declared(whole(), default=100_000, about="most messages in a train"),
}
FIRST_PAUSE, MOST_PAUSE = 0.5, 30.0  # seconds between two tries
CLOSE_SECONDS = 10.0  # for a receiver to come back; one that hangs is left behind


class Intake:
    """Where a receiver puts what comes: on disk when `append` has come back."""

    def __init__(self, log: Push, mark: str | None, works: Callable[[], None]) -> None:
        """Begin behind `mark`, that of the last message of the log."""
        self.mark = mark
        self.stop = threading.Event()
        self.works = works  # to be called once the other side is reached
        self._log = log

    @property
    def rows(self) -> int:
        """Return how many messages have ever come."""
        return self._log.rows

    def append(self, messages: Sequence[Message]) -> None:
        """Keep the messages, all or none."""
        if not messages or self.stop.is_set():
            return
        self._log.append(table_of_messages(messages, self._log.rows + 1))
        self.mark = messages[-1].mark


class Receiver(Protocol):
    """Brings messages from another side."""

    def check(self) -> None:
        """Raise what stands against reaching the other side, without trying to."""
        ...

    def receive(self, intake: Intake) -> None:
        """Append what comes until `intake.stop` is set; raise where the connection breaks."""
        ...


class Received:
    """One stream of messages."""

    def __init__(
        self,
        definition: StreamDefinition,
        around: Surroundings,
        receiver: Receiver,
        reader: MessageReader,
    ) -> None:
        """Take LOG_OPTIONS from the definition."""
        kept = tuple((n, v) for n, v in definition.source.options if n in LOG_OPTIONS)
        defaults = tuple((n, d.default) for n, d in LOG_OPTIONS.items() if n not in dict(kept))
        source = Connector("push", kept + defaults)
        self._name, self._receiver, self._reader = definition.name, receiver, reader
        self._log = Push(StreamDefinition(definition.name, MESSAGES, source), around)
        self._intake: Intake | None = None
        self._thread: threading.Thread | None = None
        self._failure: PenstockError | None = None

    @property
    def bounded(self) -> bool:
        return False

    @property
    def ended(self) -> bool:
        return False

    @property
    def on_arrival(self) -> Callable[[], None] | None:
        """Return what is called when something has come."""
        return self._log.on_arrival

    @on_arrival.setter
    def on_arrival(self, call: Callable[[], None] | None) -> None:
        self._log.on_arrival = call

    @property
    def notice(self) -> str:
        return self._log.notice

    def to_disk(self) -> None:
        self._log.to_disk()

    def open(self, after: Boundary | None) -> None:
        self.close()
        self._receiver.check()
        self._reader.open()
        self._log.open(after)
        try:
            last = self._log.last()
        except BaseException:
            self._log.close()
            raise
        mark = None if last is None else last["mark"][-1].as_py()
        self._failure = None
        self._intake = Intake(self._log, mark, self._works)
        self._thread = threading.Thread(
            target=self._run, args=(self._intake,), name=f"penstock-{self._name}", daemon=True
        )
        self._thread.start()

    def next(self) -> Offer | None:
        if (offer := self._log.next()) is not None:
            return offer
        if (failure := self._failure) is not None:
            raise type(failure)(failure.message, hint=failure.hint)
        return None

    def read(self, boundary: Boundary) -> Ingest:
        kept = self._log.read(boundary).rows
        assert isinstance(kept, pa.Table)  # noqa: S101  (a log is read as a table)
        return self._reader.read(kept)

    def commit(self, boundary: Boundary) -> None:
        self._log.commit(boundary)

    def close(self) -> None:
        if self._intake is not None and self._thread is not None:
            self._intake.stop.set()
            self._thread.join(CLOSE_SECONDS)
            self._intake = self._thread = None
        self._log.close()

    def _works(self) -> None:
        self._failure = None

    def _run(self, intake: Intake) -> None:
        """Receive until it is closed, trying again where that breaks."""
        pause = FIRST_PAUSE
        while not intake.stop.is_set():
            try:
                self._receiver.receive(intake)
                continue
            except PenstockError as error:
                failure = error
            except Exception as error:
                failure = SourceError(f"stream {self._name} cannot be received: {describe(error)}")
            if self._failure is None:
                pause = FIRST_PAUSE
            self._failure = failure
            if self._log.on_arrival is not None:
                self._log.on_arrival()  # so that the cause is seen at once
            intake.stop.wait(pause)
            pause = min(MOST_PAUSE, pause * 2)
