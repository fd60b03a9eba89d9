"""Results as messages of a real broker: each at least once, and the doubles can be told."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from paho.mqtt.client import MQTTMessage

from penstock.engine.sinks.mqtt.mqtt import MqttSink
from penstock.engine.sinks.sink import Delivery, SinkSurroundings
from penstock.errors import BadOptionError, NotAllowedError, PenstockError, SinkError
from penstock.model.definitions import Connector, Option, QueryDefinition
from tests.engine.mqtt.places import LOOPBACK, connector, fresh_topic, until
from tests.examples import IS_WHOLE
from tests.servers.mosquitto import MosquittoServer

ROOT = Path(__file__).parents[3]
KILLS = 30 if IS_WHOLE else 2


def made(broker: MosquittoServer, **options: Option) -> MqttSink:
    definition = QueryDefinition("Fast", "SELECT 1", sink=connector(broker, **options))
    MqttSink.check(definition)
    return MqttSink(definition, SinkSurroundings(lambda: "home", lambda: LOOPBACK))


def rows(*numbers: int, place: str = "") -> pa.Table:
    found = {"id": list(numbers), "x": [n / 2 for n in numbers]}
    return pa.table(found | ({"Place": [f"{place}/{n}" for n in numbers]} if place else {}))


def told(message: MQTTMessage) -> str:
    """Return which row of which delivery a message is."""
    found = dict(message.properties.UserProperty)  # type: ignore[union-attr]
    return str(found["penstock-delivery"])


def test_rows_are_messages_of_json_that_say_which_they_are(mosquitto: MosquittoServer) -> None:
    topic = fresh_topic()
    with mosquitto.listening(f"{topic}/#") as heard:
        sink = made(mosquitto, topic=f"{topic}/all")
        sink.open()
        sink.write(Delivery("Fast", 1, rows(1, 2)))
        sink.write(Delivery("Fast", 2, rows(3)))
        sink.close()
        until(lambda: len(heard) == 3)
    assert [json.loads(each.payload) for each in heard] == rows(1, 2, 3).to_pylist()
    assert [told(each) for each in heard] == ["home/fast/1/0", "home/fast/1/1", "home/fast/2/0"]


def test_a_column_names_the_topic_and_the_broker_keeps_the_last(mosquitto: MosquittoServer) -> None:
    topic = fresh_topic()
    sink = made(mosquitto, topic_column="place", retained=True)
    sink.open()
    sink.write(Delivery("Fast", 1, rows(1, 2, place=topic)))
    sink.write(Delivery("Fast", 2, rows(2, place=topic)))
    sink.close()
    with mosquitto.listening(f"{topic}/+") as heard:
        until(lambda: len(heard) == 2)
    assert {each.topic: json.loads(each.payload) for each in heard} == {
        f"{topic}/1": {"id": 1, "x": 0.5},
        f"{topic}/2": {"id": 2, "x": 1.0},
    }


def test_more_rows_than_may_be_under_way_come_in_their_order(mosquitto: MosquittoServer) -> None:
    topic = fresh_topic()
    with mosquitto.listening(topic) as heard:
        sink = made(mosquitto, topic=topic)
        sink.open()
        sink.write(Delivery("Fast", 1, rows(*range(3_000))))
        sink.close()
        until(lambda: len(heard) == 3_000)
    assert [json.loads(each.payload)["id"] for each in heard] == list(range(3_000))


@pytest.mark.parametrize("topic", ["", "a/+", None])
def test_a_row_without_a_topic_is_told_and_nothing_is_published(
    topic: str | None, mosquitto: MosquittoServer
) -> None:
    sink = made(mosquitto, topic_column="place")
    sink.open()
    with pytest.raises(SinkError, match="no topic"):
        sink.write(Delivery("Fast", 1, pa.table({"place": ["fine", topic], "id": [1, 2]})))
    with pytest.raises(SinkError, match="no column place"):
        sink.write(Delivery("Fast", 1, rows(1)))
    sink.close()


@pytest.mark.parametrize(
    ("options", "error"), [({"port": 1}, SinkError), ({"host": "192.0.2.1"}, NotAllowedError)]
)
def test_a_broker_that_cannot_be_reached_is_told(
    options: dict[str, Option], error: type[PenstockError], mosquitto: MosquittoServer
) -> None:
    sink = made(mosquitto, topic="a", **options)
    with pytest.raises(error):
        sink.open()
    sink.close()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"topic": "a", "topic_column": "b"},
        {"topic": "a/#"},
        {"topic": "a", "password": "plain"},
    ],
)
def test_bad_options_are_told_before_anything_is_opened(options: dict[str, Option]) -> None:
    into = Connector("mqtt", tuple(({"host": "h"} | options).items()))
    with pytest.raises(BadOptionError):
        MqttSink.check(QueryDefinition("Fast", "SELECT 1", sink=into))


def test_a_broker_that_goes_and_comes_back_has_every_row(mosquitto: MosquittoServer) -> None:
    topic = fresh_topic()
    with mosquitto.listening(topic) as heard:
        sink = made(mosquitto, topic=topic)
        for number in range(1, 7):
            if number % 3 == 0:
                mosquitto.stop()
                with pytest.raises(SinkError):
                    sink.write(Delivery("Fast", number, rows(number)))
                mosquitto.start()
            sink.write(Delivery("Fast", number, rows(number)))
        sink.close()
        until(lambda: {json.loads(each.payload)["id"] for each in heard} == set(range(1, 7)))


@pytest.mark.timeout(1800)  # with thirty lives
def test_a_writer_that_is_killed_again_and_again_leaves_every_row_and_doubles_can_be_told(
    mosquitto: MosquittoServer, tmp_path: Path
) -> None:
    topic, journal = fresh_topic(), tmp_path / "journal"
    with mosquitto.listening(topic) as heard:
        for life in range(KILLS):
            writer = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.engine.mqtt.writer",
                    *map(str, (journal, topic, mosquitto.port)),
                ],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
                stdout=subprocess.PIPE,
            )
            assert writer.stdout is not None
            with writer.stdout as said:
                assert said.readline()  # it writes
                time.sleep(0.013 * (life % 7))
                writer.kill()
                writer.wait()
        noted = len(journal.read_bytes())
        assert noted >= KILLS
        with suppress(AssertionError):
            until(lambda: len({told(each) for each in heard}) >= noted * 3)
    by_row = Counter((told(each), each.payload) for each in heard)
    assert len({name for name, _ in by_row}) == len(by_row)  # one name, one row
    names = {name for name, _ in by_row}
    assert names >= {f"home/fast/{n}/{at}" for n in range(1, noted + 1) for at in range(3)}
    assert sum(by_row.values()) - len(by_row) <= 3 * KILLS  # of the delivery under way alone
