"""The Kafka that tests run against is a real one, and survives what they do to it."""

import pytest
from confluent_kafka import KafkaException, Producer

from tests.servers.kafka import KafkaServer


def test_topics_are_apart_and_keep_what_each_partition_got(kafka: KafkaServer) -> None:
    one, other = kafka.topic(2), kafka.topic()
    kafka.send(one, [b"a", (b"key", b"b")], 1, headers=[("h", b"x")])
    found = [(m.partition(), m.offset(), m.key(), m.value(), m.headers()) for m in kafka.read(one)]
    assert found == [(1, 0, None, b"a", [("h", b"x")]), (1, 1, b"key", b"b", [("h", b"x")])]
    assert kafka.read(other) == []


def test_a_transaction_that_was_aborted_is_not_read(kafka: KafkaServer) -> None:
    topic = kafka.topic()
    producer = Producer(kafka.client(**{"transactional.id": "t"}))
    producer.init_transactions(30)
    for value, end in ((b"no", producer.abort_transaction), (b"yes", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(30)
        end(30)
    assert [m.value() for m in kafka.read(topic)] == [b"yes"]
    assert len(kafka.read(topic, "read_uncommitted")) == 2


def test_nobody_comes_in_with_another_password(kafka: KafkaServer) -> None:
    config = {
        "bootstrap.servers": kafka.sasl_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "penstock",
    }
    Producer(kafka.client(**config, **{"sasl.password": kafka.password})).list_topics(timeout=30)
    with pytest.raises(KafkaException):
        Producer(kafka.client(**config, **{"sasl.password": "wrong"})).list_topics(timeout=2)
