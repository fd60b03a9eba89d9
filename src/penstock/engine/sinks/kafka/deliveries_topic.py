"""The topic in which queries' last deliveries stand: a record for each, in its transaction.

It is compacted, so that the last number of each query stays for good: offsets of groups, which
could hold numbers as well, are forgotten a week after the last one.
"""

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.cimpl import NewTopic

from penstock.engine.clients.kafka.place import KafkaPlace
from penstock.engine.clients.kafka.told import told
from penstock.engine.secrets import Secrets
from penstock.errors import SinkError

DELIVERIES = "penstock_deliveries"
COMPACT = "compact"
CONFIG = {"cleanup.policy": COMPACT, "segment.bytes": str(16 << 20)}
DEFAULT = -1  # as many replicas as the brokers' setting says
GROUP = "penstock"  # the driver wants one; nothing is committed to it
CHUNK = 5_000


class DeliveriesTopic:
    """Reads the numbers of one cluster."""

    def __init__(self, place: KafkaPlace, secrets: Secrets) -> None:
        self._place, self._secrets = place, secrets
        self._config = place.client(secrets)

    def make(self) -> None:
        """Make the topic where it is missing; SinkError where it is one that forgets."""
        admin = AdminClient(self._config)
        new = NewTopic(DELIVERIES, 1, DEFAULT, config=CONFIG)
        try:
            known = admin.list_topics(timeout=self._place.seconds).topics
            if DELIVERIES not in known:
                admin.create_topics([new])[DELIVERIES].result(self._place.seconds)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        asked = ConfigResource(ConfigResource.Type.TOPIC, DELIVERIES)
        policy = admin.describe_configs([asked])[asked].result(self._place.seconds)
        if COMPACT not in str(policy["cleanup.policy"].value):
            raise SinkError(
                f"{self._place}: topic {DELIVERIES} is not compacted, and would forget deliveries",
                hint=f"set its cleanup.policy to {COMPACT}",
            )

    def last(self, key: bytes) -> int:
        """Return the number of the last delivery under a key, 0 where there is none.

        Transactions under that key must be over: those of others are waited for.
        """
        end = self._end()
        consumer = self._consumer("read_committed")
        try:
            consumer.assign([TopicPartition(DELIVERIES, 0, 0)])
            return self._read(consumer, key, end)
        finally:
            consumer.close()

    def _end(self) -> int:
        """Return where the topic ends now, open transactions and all."""
        consumer = self._consumer("read_uncommitted")
        try:
            place = TopicPartition(DELIVERIES, 0)
            edges: Any = consumer.get_watermark_offsets(place, timeout=self._place.seconds)
            if edges is None:
                raise SinkError(f"{self._place} did not answer", hint="it is tried again")
            return int(edges[1])
        finally:
            consumer.close()

    def _read(self, consumer: Consumer, key: bytes, end: int) -> int:
        found, reached = 0, 0
        give_up = time.monotonic() + self._place.seconds
        while reached < end:
            if time.monotonic() > give_up:
                raise SinkError(
                    f"{self._place}: transactions in {DELIVERIES} did not end in time",
                    hint="it is tried again; the broker ends those of a process that died",
                )
            first = consumer.poll(0.1)
            messages = [] if first is None else [first, *consumer.consume(CHUNK, 0)]
            for message in messages:
                error = message.error()
                if error is None:
                    reached = int(message.offset() or 0) + 1
                    if message.key() == key:
                        found = int(message.value() or 0)
                elif error.code() == KafkaError._PARTITION_EOF:
                    reached = max(reached, int(message.offset() or 0))
                else:
                    raise told(self._place, error, SinkError, self._secrets)
        return found

    def _consumer(self, isolation: str) -> Consumer:
        return Consumer(
            {
                **self._config,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": isolation,
            }
        )
