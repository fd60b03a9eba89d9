"""mqtt(host => …, topic => 'alarms'): a message of JSON for each row, at least once.

A delivery is over when the broker has acknowledged all of its messages (QoS 1). What it had not,
is published again: each message says in its user property `penstock-delivery` which row of which
delivery it is, so that whoever must not see one twice can tell. Needs no client before it opens.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.allowed import Allowed
from penstock.engine.clients.mqtt.place import PLACE_OPTIONS, MqttPlace, is_topic
from penstock.engine.options import Declared, flag, read_options, text
from penstock.engine.sinks.json_lines import batches, json_objects
from penstock.engine.sinks.plain_text import plain_text
from penstock.engine.sinks.sink import ALONE, Delivery, SinkSurroundings
from penstock.errors import BadOptionError, SinkError
from penstock.model.definitions import Connector, QueryDefinition

OPTIONS = {
    **PLACE_OPTIONS,
    "topic": Declared(text, about="the topic of all messages"),
    "topic_column": Declared(text, about="in its place: the column that holds each one's topic"),
    "retained": Declared(flag, default=False, about="the broker keeps the last message of a topic"),
}
MOST_WAITING = 500  # messages without an acknowledgement: fewer than the client has numbers for


class MqttSink:
    """One query's rows, published one by one."""

    repeatable = False

    def __init__(self, definition: QueryDefinition, around: SinkSurroundings = ALONE) -> None:
        options = _options(definition)
        self._place = MqttPlace.of(options)
        self._query, self._around = definition.name, around
        self._topic: str | None = options["topic"]
        self._column: str | None = options["topic_column"]
        self._retained: bool = options["retained"]
        self._session: Any = None  # what closes the connection
        self._connection: Any = None

    @classmethod
    def check(cls, definition: QueryDefinition) -> None:
        """Raise what is wrong with the options."""
        _options(definition)

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where the operator has not named the broker."""
        self._place.require_allowed(allowed)

    def open(self) -> None:
        self.require_allowed(self._around.allowed())
        self.close()
        module = import_module("penstock.engine.clients.mqtt.session")
        session = module.connected(self._place, "", SinkError, keeps=False)
        self._connection = session.__enter__()
        self._session = session

    def write(self, delivery: Delivery) -> None:
        rows = delivery.rows
        name = self._column_of(rows)
        topics = self._topics(rows, name)
        body = rows.drop_columns([name]) if name is not None else rows
        texts = [text for each in batches(body) for text in json_objects(each).to_pylist()]
        told = f"{self._around.home()}/{delivery.query.lower()}/{delivery.number}"
        if self._connection is None:
            self.open()
        try:
            self._publish(topics, texts, told)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._session is not None:
            self._session.__exit__(None, None, None)
            self._session = self._connection = None

    def _column_of(self, rows: pa.Table) -> str | None:
        """Return the column of topics as the rows write it; None where all go to one topic."""
        if self._column is None:
            return None
        wanted = self._column.lower()
        found = next((name for name in rows.column_names if name.lower() == wanted), None)
        if found is None:
            raise SinkError(
                f"query {self._query} has no column {self._column} to take topics from",
                hint=f"it has {', '.join(rows.column_names)}",
            )
        return str(found)

    def _topics(self, rows: pa.Table, column: str | None) -> list[str]:
        if column is None:
            return [self._topic or ""] * rows.num_rows
        topics = pc.cast(plain_text(rows[column].combine_chunks()), pa.string()).to_pylist()
        for topic in set(topics):
            if topic is None or not is_topic(topic):
                raise SinkError(
                    f"query {self._query}: {topic!r} in {column} is no topic to publish to",
                    hint="leave such rows out; a topic has neither + nor #, and is not empty",
                )
        return list(topics)

    def _publish(self, topics: Sequence[str], texts: Sequence[str], delivery: str) -> None:
        """Publish all, and return when the broker has said of each that it has it."""
        waiting: set[int] = set()
        for at, (topic, body) in enumerate(zip(topics, texts, strict=True)):
            number = self._connection.publish(
                topic, body.encode(), retain=self._retained, told=f"{delivery}/{at}"
            )
            if number is None:
                raise SinkError(f"{self._place} was lost", hint="it is tried again")
            waiting.add(number)
            while len(waiting) >= MOST_WAITING:
                self._settle(waiting)
        while waiting:
            self._settle(waiting)

    def _settle(self, waiting: set[int]) -> None:
        """Wait for one answer."""
        event = self._connection.next(self._place.seconds)
        number, why = getattr(event, "number", None), getattr(event, "why", "it did not answer")
        if number is None:
            raise SinkError(f"{self._place} was lost: {why}", hint="it is tried again")
        if event.refusal:
            raise SinkError(
                f"{self._place} refuses a message of {self._query}: {event.refusal}",
                hint="see what the user may write there",
            )
        waiting.discard(number)


def _options(definition: QueryDefinition) -> dict[str, Any]:
    options = read_options(definition.sink or Connector("mqtt"), OPTIONS)
    if (options["topic"] is None) == (options["topic_column"] is None):
        raise BadOptionError(
            "a sink of mqtt needs topic => … or topic_column => …, and not both",
            hint="mqtt(…, topic => 'alarms')",
        )
    if options["topic"] is not None and not is_topic(options["topic"]):
        raise BadOptionError(
            f"option topic of mqtt is '{options['topic']}', and nothing can be published to that",
            hint="+ and # are for those who read",
        )
    if options["password"] is not None and options["user"] is None:
        raise BadOptionError("password of mqtt goes with user", hint="mqtt(…, user => 'me')")
    return options
