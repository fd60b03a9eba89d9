"""MQTT from SQL: messages in, a query, messages out; the broker goes and comes back."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import NotAllowedError
from tests.e2e.support import figures, rows_of, stream_figures, until
from tests.engine.mqtt.places import fresh_topic
from tests.servers.mosquitto import MosquittoServer

pytestmark = pytest.mark.spark


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark, hosts=["127.0.0.1"]) as connection:
        yield connection


def test_messages_become_messages_and_wait_for_a_broker_that_is_away(
    ps: Connection, mosquitto: MosquittoServer
) -> None:
    topic = fresh_topic()
    place = f"host => '127.0.0.1', port => {mosquitto.port}"
    with mosquitto.listening(f"{topic}/out") as heard:
        ps.script(
            "CREATE STREAM s (celsius DOUBLE, hall STRING) "
            f"FROM mqtt({place}, topic => '{topic}/in/+', topic_column => 'hall');"
            "CREATE QUERY hot AS SELECT hall, celsius FROM s WHERE celsius > 40 "
            f"INTO mqtt({place}, topic => '{topic}/out')"
        )
        until(ps, lambda: mosquitto.has_heard(f"{topic}/in/+"))
        mosquitto.publish((f"{topic}/in/a", '{"celsius": 41.5}'), (f"{topic}/in/b", "20"))
        until(ps, lambda: len(heard) == 1)
        mosquitto.stop()
        until(ps, lambda: "MQTT at 127.0.0.1" in stream_figures(ps, "s")["cause"])
        mosquitto.start()
        mosquitto.publish((f"{topic}/in/a", '{"celsius": 42}'))
        until(ps, lambda: len(heard) >= 2)
        until(ps, lambda: not stream_figures(ps, "s")["cause"])
    assert {json.loads(each.payload)["celsius"] for each in heard} == {41.5, 42.0}
    (reject,) = rows_of(ps.sql("SELECT reason FROM s.rejects").table)
    assert f"{topic}/in/b" in reject["reason"]
    assert figures(ps, "hot")["rows_out"] == 2


def test_a_broker_that_nobody_allowed_is_refused_at_create(ps: Connection) -> None:
    with pytest.raises(NotAllowedError):
        ps.sql("CREATE STREAM s (x INT) FROM mqtt(host => '192.0.2.1', topic => 'a')")
