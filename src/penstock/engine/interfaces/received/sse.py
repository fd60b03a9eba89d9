"""`sse`: Server-Sent Events, each in the log with its id before the next connection names that.

After a break the server is told the id of the last event (Last-Event-ID), and goes on behind it.
Events without ids that were sent meanwhile are lost, which is told as a gap.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.clients.http.place import PLACE_OPTIONS, HttpPlace
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.received.messages import (
    PAYLOAD_OPTIONS,
    Message,
    MessageReader,
    check_messages,
    told_columns,
)
from penstock.engine.interfaces.received.received import LOG_OPTIONS, Intake, Received
from penstock.engine.options import Declared, read_options, text
from penstock.errors import PenstockError, SourceError
from penstock.model.definitions import StreamDefinition

TOLD = {"event_column": ("origin", "string"), "id_column": ("mark", "string")}
OPTIONS = {
    **PLACE_OPTIONS,
    **PAYLOAD_OPTIONS,
    "event_column": Declared(text, about="the column that takes an event's type"),
    "id_column": Declared(text, about="the column that takes an event's id"),
    **LOG_OPTIONS,
}
OK = 200
MOST_AT_ONCE = 1_000  # events that one write to the log takes
MOST_WAITING = 10_000  # events between the connection and the log; then the server has to wait
LOOK_SECONDS = 0.2  # how soon it sees that it was closed
GAP = "the connection broke, and events without ids cannot be asked for again: some may be missing"


class Sse(Received):
    """One stream of events."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        options = options_of(definition)
        told = told_columns(definition, options, TOLD)
        reader = MessageReader(definition, options, told, around)
        super().__init__(definition, around, EventReader(options, around), reader)

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        options_of(definition)


class EventReader:
    """Reads the events of an address."""

    def __init__(self, options: dict[str, Any], around: Surroundings) -> None:
        self._place = HttpPlace.of(options, "sse")
        self._allowed: Callable[[], Allowed] = around.allowed

    def check(self) -> None:
        self._place.require_allowed(self._allowed())

    def receive(self, intake: Intake) -> None:
        self.check()
        session = import_module("penstock.engine.clients.http.session")
        asking = session.Session(self._place, SourceError)
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if intake.mark:
            headers["Last-Event-ID"] = intake.mark
        try:
            with asking.stream("GET", headers=headers, endless=True) as response:
                if response.status_code != OK:
                    raise asking.failed(f"it answered {response.status_code}")
                if intake.rows and not intake.mark:
                    intake.append([Message("", gap=GAP)])
                self._take(asking, response, intake)
        finally:
            asking.close()

    def _take(self, asking: Any, response: Any, intake: Intake) -> None:
        events: Queue[Any] = Queue(MOST_WAITING)
        with _reading(response, events):
            intake.works()
            while not intake.stop.is_set():
                came = _together(events)
                intake.append([_message(each) for each in came if not isinstance(each, str)])
                if broken := [each for each in came if isinstance(each, str)]:
                    raise asking.failed(broken[0])


@contextmanager
def _reading(response: Any, events: "Queue[Any]") -> Iterator[None]:
    """Read events in a thread of its own; a text says that there will be no more, and why."""
    over = Event()
    httpx_sse = import_module("httpx_sse")

    def put(event: Any) -> None:
        while not over.is_set():
            with suppress(Full):
                events.put(event, timeout=LOOK_SECONDS)
                return

    def read() -> None:
        try:
            for event in httpx_sse.EventSource(response).iter_sse():
                if event.data:  # an id or a comment alone is no event, by the standard
                    put(event)
            put("the connection was closed")
        except PenstockError as error:
            put(error.message)
        except Exception as error:
            put(str(error) or type(error).__name__)

    line: socket.socket = response.extensions["network_stream"].get_extra_info("socket")
    reader = Thread(target=read, name="penstock-sse", daemon=True)
    reader.start()
    try:
        yield
    finally:
        over.set()
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)  # wakes who waits for more
        reader.join()


def _together(events: "Queue[Any]") -> list[Any]:
    """Return what has come, as much as is there; nothing where nothing comes for a while."""
    found: list[Any] = []
    with suppress(Empty):
        found.append(events.get(timeout=LOOK_SECONDS))
        while len(found) < MOST_AT_ONCE:
            found.append(events.get_nowait())
    return found


def _message(event: Any) -> Message:
    return Message(event.event, event.data.encode(), mark=event.id or None)


def options_of(definition: StreamDefinition) -> dict[str, Any]:
    """Return the checked options."""
    options = read_options(definition.source, OPTIONS)
    HttpPlace.of(options, "sse")
    check_messages(definition, options, TOLD)
    return options
