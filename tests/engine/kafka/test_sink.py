"""The sink of Kafka against a real broker: every row once, whoever dies."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from penstock.engine.sinks.kafka.kafka import KafkaSink
from penstock.engine.sinks.sink import Delivery, SinkSurroundings
from penstock.errors import BadOptionError, NotAllowedError, SinkError
from penstock.model.definitions import Connector, Option, QueryDefinition
from tests.contracts.sink_laws import SINK_LAWS, SinkCase
from tests.engine.kafka.places import LOOPBACK, connector
from tests.examples import IS_WHOLE
from tests.servers.kafka import KafkaServer

ROOT = Path(__file__).parents[3]
KILLS = 30 if IS_WHOLE else 1
MOST_KILLS = 200 if IS_WHOLE else 2  # of the lines of the sink's code


def sink_of(server: KafkaServer, topic: str, home: str = "one", **more: Option) -> KafkaSink:
    """Return the closed sink of a query that has the topic's name."""
    into = connector(server, topic=topic, **more)
    definition = QueryDefinition(topic, "SELECT 1", sink=into)
    return KafkaSink(definition, SinkSurroundings(lambda: home, lambda: LOOPBACK))


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": list(numbers), "name": [f"car {n}" for n in numbers]})


def ids(server: KafkaServer, topic: str) -> list[int]:
    return sorted(json.loads(message.value() or b"")["id"] for message in server.read(topic))


def test_a_record_has_its_key_and_says_which_row_of_which_delivery_it_is(
    kafka: KafkaServer,
) -> None:
    topic = kafka.topic(3)
    sink = sink_of(kafka, topic, key="name", compression="lz4")
    sink.open()
    sink.write(Delivery("fast", 1, rows(1, 2)))
    sink.write(Delivery("fast", 2, pa.table({"id": [1], "name": pa.nulls(1, pa.string())})))
    sink.close()
    found: list[Any] = kafka.read(topic)
    headers = {m.key(): dict(m.headers()) for m in found}
    assert headers == {
        b"car 1": _headers(topic, b"1", b"0"),
        b"car 2": _headers(topic, b"1", b"1"),
        None: _headers(topic, b"2", b"0"),
    }
    assert json.loads(next(m.value() for m in found if m.key() == b"car 2")) == {
        "id": 2,
        "name": "car 2",
    }


def test_values_are_csv_or_raw_where_that_is_wanted(kafka: KafkaServer) -> None:
    topic = kafka.topic()
    raw = pa.table({"k": [b"\xff"], "v": [b"\x00"]})
    texts = pa.table({"a": ['x "y"', None], "b": [1, 2]})
    for at, (given, options) in enumerate(
        (
            (raw, {"format": "raw", "key": "k"}),
            (texts, {"format": "csv"}),
        )
    ):
        sink = sink_of(kafka, topic, home=str(at), **options)
        sink.open()
        sink.write(Delivery("fast", 1, given))
        sink.close()
    found = [(m.key(), m.value()) for m in kafka.read(topic)]
    assert found == [(b"\xff", b"\x00"), (None, b'"x ""y""",1'), (None, b",2")]


def test_a_number_that_comes_again_changes_nothing(kafka: KafkaServer) -> None:
    topic = kafka.topic()
    for life in (((1, rows(1, 2)), (2, rows(3))), ((1, rows(1, 2)), (2, rows(3)), (3, rows(4)))):
        sink = sink_of(kafka, topic)
        sink.open()
        for given in life:
            sink.write(Delivery("fast", *given))
        sink.close()
    other = sink_of(kafka, topic, home="two")
    other.open()
    other.write(Delivery("fast", 1, rows(5)))
    other.close()
    assert ids(kafka, topic) == [1, 2, 3, 4, 5]


def test_a_process_that_was_thought_dead_brings_nothing_more(kafka: KafkaServer) -> None:
    topic = kafka.topic()
    old, new = sink_of(kafka, topic), sink_of(kafka, topic)
    old.open()
    old.write(Delivery("fast", 1, rows(1)))
    new.open()
    with pytest.raises(SinkError, match=r"[Ff]enced|instance"):
        old._transactions.write(2, [(None, b'{"id": 99}')])
    new.write(Delivery("fast", 2, rows(2)))
    old.close()
    new.close()
    assert ids(kafka, topic) == [1, 2]


def test_what_does_not_go_in_is_told_and_leaves_nothing(kafka: KafkaServer) -> None:
    topic = kafka.topic(max_message_bytes=1000)
    sink = sink_of(kafka, topic)
    with pytest.raises(SinkError, match=r"[Mm]essage size"):
        sink.write(Delivery("fast", 1, pa.table({"id": [1, 2], "name": ["a", "b" * 5000]})))
    with pytest.raises(SinkError, match="no column strange"):
        sink_of(kafka, topic, key="strange").write(Delivery("fast", 1, rows(1)))
    with pytest.raises(SinkError, match="one column"):
        sink_of(kafka, topic, format="raw").write(Delivery("fast", 1, rows(1)))
    sink.write(Delivery("fast", 1, rows(1)))
    sink.close()
    assert ids(kafka, topic) == [1]


def test_deliveries_that_the_journal_has_lost_are_not_taken_for_others(kafka: KafkaServer) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    sink.expect(0)
    sink.open()
    for number in (1, 2, 3):
        sink.write(Delivery("fast", number, rows(number)))
    sink.close()
    sink.open()  # it has written them itself
    sink.close()
    older = sink_of(kafka, topic)
    older.expect(1)
    with pytest.raises(SinkError, match="delivery 3") as raised:
        older.open()
    key = f"one/{topic}"
    assert key in raised.value.hint
    kafka.send("penstock_deliveries", [(key.encode(), b"1")])
    older.open()
    older.close()


def test_transactions_of_others_in_the_topic_of_deliveries_are_waited_for(
    kafka: KafkaServer,
) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    sink.write(Delivery("fast", 1, rows(1)))
    sink.close()
    other = Producer(kafka.client(**{"transactional.id": topic}))
    other.init_transactions(30)
    other.begin_transaction()
    other.produce("penstock_deliveries", b"9", b"other/query")
    other.flush(30)
    hasty = sink_of(kafka, topic, timeout=timedelta(seconds=1))
    with pytest.raises(SinkError, match="did not end in time"):
        hasty.open()
    other.abort_transaction(30)
    hasty.open()
    hasty.write(Delivery("fast", 1, rows(1)))
    hasty.close()
    assert ids(kafka, topic) == [1]


def test_a_topic_that_is_not_there_is_told_by_name(kafka: KafkaServer) -> None:
    with pytest.raises(SinkError, match="nowhere"):
        sink_of(kafka, "nowhere").open()


def test_a_broker_that_nobody_allowed_is_not_asked(kafka: KafkaServer) -> None:
    with pytest.raises(NotAllowedError):
        sink_of(kafka, "cars", servers="192.0.2.1:9092").open()


@pytest.mark.parametrize("options", [{"format": "xml"}, {"user": "me"}, {"compression": "zip"}])
def test_options_that_do_not_fit_are_refused(options: dict[str, Option]) -> None:
    into = {"servers": "localhost", "topic": "cars", **options}
    definition = QueryDefinition("q", "SELECT 1", sink=_connector(into))
    with pytest.raises(BadOptionError):
        KafkaSink.check(definition)


@pytest.mark.skipif(not IS_WHOLE, reason="tests/e2e/test_kafka.py does it with a query")
def test_a_broker_that_dies_and_comes_back_has_every_row_once(kafka: KafkaServer) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic, timeout=timedelta(seconds=2))
    for number in range(1, 10):
        if number == 5:
            kafka.kill()
            with pytest.raises(SinkError):
                sink.write(Delivery("fast", number, rows(number)))
            kafka.start()
        _put(sink, Delivery("fast", number, rows(number)))
    sink.close()
    assert ids(kafka, topic) == list(range(1, 10))


def test_a_writer_that_is_killed_again_and_again_leaves_every_row_once(
    kafka: KafkaServer, tmp_path: Path
) -> None:
    topic = kafka.topic()
    command = [sys.executable, "-m", "tests.engine.kafka.writer"]
    told = [str(tmp_path / "journal"), kafka.servers, topic]
    for life in range(KILLS):
        writer = subprocess.Popen(
            [*command, *told],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        with writer.stdout as said:
            said.readline()  # it writes
            time.sleep(0.013 * (life % 7))
            writer.kill()
            writer.wait()
    sink = sink_of(kafka, topic, home="home")
    last = _fenced(sink)
    written = Counter(ids(kafka, topic))
    assert last >= KILLS
    assert written == dict.fromkeys(range(1, last + 1), 3)


@pytest.mark.parametrize("law", SINK_LAWS, ids=lambda law: law.__name__)
def test_the_sink_keeps(
    law: Callable[[SinkCase, Path], None], kafka: KafkaServer, tmp_path: Path
) -> None:
    topics: dict[int, str] = {}

    def definition(place: int) -> QueryDefinition:
        topics.setdefault(place, kafka.topic())
        into = connector(kafka, topic=topics[place], key="car")
        return QueryDefinition(topics[place], "SELECT 1", sink=into)

    def look(place: int) -> object:
        return [(m.key(), m.value()) for m in kafka.read(topics[place])]

    law(SinkCase(definition, look, LOOPBACK, most_kills=MOST_KILLS), tmp_path)


def _headers(query: str, delivery: bytes, row: bytes) -> dict[str, bytes]:
    named = {"query": query.encode(), "delivery": delivery, "row": row}
    return {f"penstock-{name}": value for name, value in named.items()}


def _connector(options: dict[str, Option]) -> Connector:
    return Connector("kafka", tuple(options.items()))


def _fenced(sink: KafkaSink) -> int:
    """End what a killed process left open, and return the last delivery that is in."""
    sink.open()
    last = int(sink._transactions._last)
    sink.close()
    return last


def _put(sink: KafkaSink, delivery: Delivery) -> None:
    """Write as a query does: again where it failed, a few times."""
    for _ in range(5):
        try:
            sink.write(delivery)
        except SinkError:
            time.sleep(0.2)
        else:
            return
    sink.write(delivery)
