"""One connection to a broker, by MQTT 5: what comes and what is answered, as events of a queue.

paho works in a thread of its own and calls us there; whoever uses a `Connection` takes the events
from its queue, in the order in which they came, so that nothing else needs a lock.
"""

import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from paho.mqtt.client import Client, ConnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from penstock.engine.clients.mqtt.place import MqttPlace
from penstock.engine.secrets import Secrets
from penstock.errors import PenstockError

FOREVER = 0xFFFFFFFF  # seconds for which the broker keeps a session: until it is told otherwise
KEEP_ALIVE = 30  # seconds without a word after which each side asks whether the other lives
DELIVERY = "penstock-delivery"  # home, query, number and row: the same where it comes again
INFLIGHT = 1_000  # messages that may be under way without an acknowledgement, either way


@dataclass(frozen=True, slots=True)
class Connected:
    """The broker has let us in; `known` where it still has the session of that client."""

    known: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """The broker has answered a SUBSCRIBE or a PUBLISH; `refusal` says why not, if so."""

    number: int
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message of a topic that was subscribed to."""

    message: MQTTMessage


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is over."""

    why: str


Event = Connected | Answered | Arrived | Lost


class Connection:
    """A connection that stands."""

    def __init__(self, client: Client, events: "SimpleQueue[Event]", known: bool) -> None:
        self.known = known
        self._client, self._events = client, events

    def subscribe(self, topics: Iterable[str]) -> None:
        """Subscribe with QoS 1; `Answered` tells of it, or `Lost`.

        Retained messages come only for topics that the session did not have.
        """
        options = SubscribeOptions(qos=1, retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB)
        self._client.subscribe([(topic, options) for topic in topics])

    def publish(self, topic: str, payload: bytes, *, retain: bool, told: str) -> int | None:
        """Publish with QoS 1; return the number of the answer, or None where it was not taken.

        `told` goes along as the user property DELIVERY.
        """
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]  # theirs
        properties.UserProperty = (DELIVERY, told)
        info = self._client.publish(topic, payload, 1, retain, properties)
        return info.mid if info.rc is MQTTErrorCode.MQTT_ERR_SUCCESS else None

    def acknowledge(self, message: MQTTMessage) -> None:
        """Tell the broker that a message need not be sent again."""
        self._client.ack(message.mid, message.qos)

    def next(self, seconds: float) -> Event | None:
        """Return what happened next, or None where nothing did for so long."""
        try:
            return self._events.get(timeout=seconds)
        except Empty:
            return None

    def at_once(self) -> Event | None:
        """Return what has happened already, or None."""
        with suppress(Empty):
            return self._events.get_nowait()
        return None


@contextmanager
def connected(
    place: MqttPlace, client_id: str, failure: type[PenstockError], *, keeps: bool
) -> Iterator[Connection]:
    """Give a connection, and close it behind the block.

    With `keeps`, the broker keeps the client's session when it ends. Raises `failure`.
    """
    secrets = Secrets()
    events: SimpleQueue[Event] = SimpleQueue()
    client = _client(client_id, events)
    if place.user is not None:
        password = secrets.reveal(place.password) if place.password is not None else None
        client.username_pw_set(place.user, password)
    if place.tls:
        client.tls_set_context(ssl.create_default_context())
    client.connect_timeout = place.seconds
    wanted = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # theirs
    wanted.SessionExpiryInterval = FOREVER if keeps else 0
    wanted.ReceiveMaximum = INFLIGHT
    try:
        client.connect(place.host, place.port, KEEP_ALIVE, clean_start=not keeps, properties=wanted)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise failure(
            f"{place} cannot be reached: {secrets.scrubbed(why)}",
            hint="check host, port and tls, and whether the broker runs",
        ) from None
    client.loop_start()
    try:
        yield Connection(client, events, _let_in(place, events, failure))
    finally:
        client.disconnect()
        client.loop_stop()


def _client(client_id: str, events: "SimpleQueue[Event]") -> Client:
    client = Client(
        CallbackAPIVersion.VERSION2,
        client_id,
        protocol=MQTTProtocolVersion.MQTTv5,
        reconnect_on_failure=False,  # what was under way belongs to a connection: we make a new one
        manual_ack=True,
    )

    def on_connect(_: Client, __: Any, flags: ConnectFlags, code: ReasonCode, ___: Any) -> None:
        events.put(Lost(str(code)) if code.is_failure else Connected(flags.session_present))

    def on_answer(_: Client, __: Any, number: int, codes: Any, ___: Any) -> None:
        each = codes if isinstance(codes, list) else [codes]
        refused = [str(code) for code in each if code is not None and code.is_failure]
        events.put(Answered(number, ", ".join(refused)))

    def on_end(_: Client, __: Any, ___: Any, code: ReasonCode, ____: Any) -> None:
        events.put(Lost(str(code)))

    client.on_connect, client.on_disconnect = on_connect, on_end
    client.on_subscribe = client.on_publish = on_answer
    client.on_message = lambda _, __, message: events.put(Arrived(message))
    client.max_inflight_messages_set(INFLIGHT)
    return client


def _let_in(place: MqttPlace, events: "SimpleQueue[Event]", failure: type[PenstockError]) -> bool:
    """Wait until the broker has let us in; say whether it knew the session."""
    try:
        event = events.get(timeout=place.seconds)
    except Empty:
        event = Lost(f"it did not answer for {place.seconds:g} s")
    match event:
        case Connected(known):
            return known
        case Lost(why):
            raise failure(
                f"{place} does not let us in: {why}", hint="check user, password and client_id"
            )
        case _:
            raise failure(f"{place} does not speak MQTT 5: it sent something before CONNACK")
