"""`mqtt`: messages of topics, by a session that the broker keeps while nobody is there.

Messages are on disk before the broker hears that they came (QoS 1), so each is in the log at least
once. One whose acknowledgement got lost comes again: then the broker marks it, and the column that
`again_column` names is true. What is in the log is read exactly once.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any
from uuid import uuid4

from penstock.engine.allowed import Allowed
from penstock.engine.clients.mqtt.place import PLACE_OPTIONS, MqttPlace, is_filter
from penstock.engine.interfaces.durable import make_home, read_json, write_json
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
from penstock.errors import BadOptionError, SourceError
from penstock.model.definitions import StreamDefinition

TOLD = {
    "topic_column": ("origin", "string"),
    "retained_column": ("retained", "boolean"),
    "again_column": ("again", "boolean"),
}
OPTIONS = {
    **PLACE_OPTIONS,
    "topic": Declared(text, required=True, about="topics with + and #, commas between"),
    "client_id": Declared(
        text, about="the session's name at the broker; one of its own if left out"
    ),
    **PAYLOAD_OPTIONS,
    "topic_column": Declared(text, about="the column that takes the topic"),
    "retained_column": Declared(text, about="the column that says whether it was retained"),
    "again_column": Declared(text, about="the column that says whether it was sent before"),
    **LOG_OPTIONS,
}
MOST_AT_ONCE = 1_000  # messages that one write to the log takes
LOOK_SECONDS = 0.2  # how soon it sees that it was closed
GAP = "the broker had lost the session: what was published while nobody was connected is missing"


class Mqtt(Received):
    """One stream of messages from a broker."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        options = options_of(definition)
        told = told_columns(definition, options, TOLD)
        reader = MessageReader(definition, options, told, around)
        super().__init__(definition, around, Subscriber(options, around), reader)

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        options_of(definition)


class Subscriber:
    """Subscribes to topics and acknowledges what the log has."""

    def __init__(self, options: dict[str, Any], around: Surroundings) -> None:
        self._place = MqttPlace.of(options)
        self._topics = topics_of(options["topic"])
        self._client_id: str | None = options["client_id"]
        self._allowed: Callable[[], Allowed] = around.allowed
        self._kept = around.home / "session.json"

    def check(self) -> None:
        self._place.require_allowed(self._allowed())

    def receive(self, intake: Intake) -> None:
        self.check()
        mqtt = import_module("penstock.engine.clients.mqtt.session")
        kept = self._session()
        with mqtt.connected(self._place, kept["client"], SourceError, keeps=True) as connection:
            if kept["begun"] and not connection.known:
                intake.append([Message("", gap=GAP, mark=intake.mark)])
            self._subscribe(mqtt, connection, intake)
            write_json(self._kept, {**kept, "begun": True})
            intake.works()
            while not intake.stop.is_set():
                self._take(mqtt, connection, connection.next(LOOK_SECONDS), intake)

    def _session(self) -> dict[str, Any]:
        """Return the client's name, and whether the broker has ever had a session of it."""
        make_home(self._kept.parent)
        kept: dict[str, Any] | None = read_json(self._kept)
        if kept is None:
            # 23 letters and digits are what every broker takes.
            made = self._client_id or f"penstock{uuid4().hex[:15]}"
            kept = {"client": made, "begun": False}
            write_json(self._kept, kept)
        return kept

    def _subscribe(self, mqtt: Any, connection: Any, intake: Intake) -> None:
        """Subscribe, and wait until the broker has said that it will send."""
        connection.subscribe(self._topics)
        early: list[Any] = []
        while not isinstance(event := connection.next(self._place.seconds), mqtt.Answered):
            if not isinstance(event, mqtt.Arrived):
                raise self._lost(event.why if event is not None else "it did not answer")
            early.append(event)  # of a session that was there before
        if event.refusal:
            raise SourceError(
                f"{self._place} refuses {', '.join(self._topics)}: {event.refusal}",
                hint="see what the user may read there",
            )
        self._keep(connection, early, intake)

    def _take(self, mqtt: Any, connection: Any, event: Any, intake: Intake) -> None:
        """Keep what has come, all that is there at once in one write, and acknowledge it."""
        arrived: list[Any] = []
        while isinstance(event, mqtt.Arrived) and len(arrived) < MOST_AT_ONCE:
            arrived.append(event)
            event = connection.at_once() if len(arrived) < MOST_AT_ONCE else None
        self._keep(connection, arrived, intake)
        if isinstance(event, mqtt.Lost):
            raise self._lost(event.why)

    def _keep(self, connection: Any, arrived: list[Any], intake: Intake) -> None:
        messages = [each.message for each in arrived]
        intake.append([Message(m.topic, bytes(m.payload), m.retain, m.dup) for m in messages])
        if intake.stop.is_set():
            return  # it may not have been kept
        for message in messages:
            connection.acknowledge(message)

    def _lost(self, why: str) -> SourceError:
        return SourceError(f"{self._place} was lost: {why}", hint="it is tried again")


def topics_of(given: str) -> list[str]:
    """Return the topics of a list with commas, or raise what is wrong with one."""
    topics = [topic.strip() for topic in given.split(",")]
    for topic in topics:
        if not is_filter(topic):
            raise BadOptionError(
                f"option topic of mqtt has '{topic}', which is no topic",
                hint="+ stands for one level, # for all levels below, at the end: 'plant/+/temp'",
            )
    return topics


def options_of(definition: StreamDefinition) -> dict[str, Any]:
    """Return the checked options."""
    options = read_options(definition.source, OPTIONS)
    topics_of(options["topic"])
    if options["password"] is not None and options["user"] is None:
        raise BadOptionError("password of mqtt goes with user", hint="mqtt(…, user => 'me')")
    check_messages(definition, options, TOLD)
    return options
