"""Deliveries of one query as transactions, each with its number in it.

Who opens fences off who had the same name before: what that had begun is over, committed or not,
before the last number is read. So a delivery may come again after a crash, a lost connection or a
commit of which nobody heard the end, and a process that was thought dead brings nothing more.
"""

from collections.abc import Iterable
from contextlib import suppress

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock.engine.clients.kafka.place import KafkaPlace
from penstock.engine.clients.kafka.told import told
from penstock.engine.secrets import Secrets
from penstock.engine.sinks.kafka.deliveries_topic import DELIVERIES, DeliveriesTopic
from penstock.engine.sinks.kafka.payloads import Payload
from penstock.errors import SinkError

MOST_BYTES = 100 << 20  # of a record: its topic says how large one may be, not the driver
LEAST_SECONDS = 10.0  # that the broker leaves a transaction open
HEADER = "penstock-"

Header = tuple[str, str | bytes | None]


class Transactions:
    """One query's way into one topic; `owner` tells homes apart that write under one name."""

    def __init__(
        self, place: KafkaPlace, topic: str, compression: str, owner: str, query: str
    ) -> None:
        self._place, self._topic, self._query = place, topic, query
        self._compression = compression
        self._key = f"{owner}/{query.lower()}"
        self._secrets = Secrets()
        self._producer: Producer | None = None
        self._last = 0
        self._failed: KafkaError | None = None

    def open(self) -> int:
        """Fence off whoever wrote before; return the number of the last delivery."""
        try:
            deliveries = DeliveriesTopic(self._place, self._secrets)
            deliveries.make()
            self._producer = self._made()
            self._require_topic(self._producer)
            self._producer.init_transactions(self._place.seconds)
            self._last = deliveries.last(self._key.encode())
        except KafkaException as error:
            raise told(self._place, error, SinkError, self._secrets) from error
        return self._last

    def write(self, number: int, records: Iterable[Payload]) -> None:
        """Bring records with their number, unless the number is there; then `open` anew."""
        if number <= self._last:
            return
        if self._producer is None:
            raise SinkError(f"the sink of {self._query} is not open")
        self._failed = None
        try:
            self._producer.begin_transaction()
            self._send(self._producer, number, records)
            self._producer.commit_transaction(self._place.seconds)
        except (KafkaException, SystemError) as error:
            raise told(self._place, self._why(error), SinkError, self._secrets) from error
        self._last = number

    def close(self) -> None:
        """Leave; what was begun and not committed is aborted, here or by the broker."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaException, SystemError):
                producer.purge()
                producer.abort_transaction(0.5)

    def _send(self, producer: Producer, number: int, records: Iterable[Payload]) -> None:
        said: list[Header] = [(f"{HEADER}query", self._query), (f"{HEADER}delivery", str(number))]
        for row, (key, value) in enumerate(records):
            headers: list[Header] = [*said, (f"{HEADER}row", str(row))]
            while True:
                try:
                    producer.produce(
                        self._topic, value, key, headers=headers, on_delivery=self._note
                    )
                    break
                except BufferError:  # it holds as much as it may
                    producer.poll(0.1)
        producer.produce(DELIVERIES, str(number), self._key, 0, on_delivery=self._note)
        if producer.flush(self._place.seconds):
            raise SinkError(
                f"{self._place} did not take delivery {number} in {self._place.seconds:g} s",
                hint="it is tried again; a larger timeout => … gives it more",
            )

    def _why(self, error: KafkaException | SystemError) -> KafkaError | KafkaException:
        """Return what a record failed by, where one did: the transaction's own error says less.

        The driver raises what is fatal while it calls us back, and Python turns that into another.
        """
        if isinstance(error, KafkaException):
            return error if self._failed is None else self._failed
        if isinstance(error.__cause__, KafkaException):
            return error.__cause__
        raise error

    def _note(self, error: KafkaError | None, _: Message) -> None:
        self._failed = self._failed or error

    def _require_topic(self, producer: Producer) -> None:
        """Raise where the topic is not there and its broker does not make it."""
        found = producer.list_topics(self._topic, self._place.seconds).topics[self._topic]
        if found.error is not None:
            raise SinkError(
                f"{self._place}: topic {self._topic}: {found.error.str()}",
                hint="make the topic, or name another one",
            )

    def _made(self) -> Producer:
        return Producer(
            {
                **self._place.client(self._secrets),
                "transactional.id": f"penstock/{self._key}",
                "transaction.timeout.ms": round(1000 * max(LEAST_SECONDS, self._place.seconds)),
                "message.max.bytes": MOST_BYTES,
                "compression.type": self._compression,
                "partitioner": "murmur2_random",  # as Java's clients do it
                "delivery.report.only.error": True,
            }
        )
