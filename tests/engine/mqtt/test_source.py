"""Messages from a real broker: each in the log before it is acknowledged, whoever dies."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.interfaces.interface import Boundary, Interface, Surroundings
from penstock.engine.interfaces.received.mqtt import Mqtt
from penstock.errors import BadOptionError, NotAllowedError, SourceError, UnknownColumnError
from penstock.model.definitions import Connector, Option, Secret, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.contracts.source_laws import (
    FRESH_SOURCE_LAWS,
    ROWS,
    SOURCE_LAWS,
    Case,
    Drained,
    Source,
    drained_of,
    source_of,
)
from tests.engine.mqtt.places import LOOPBACK, PATIENCE, connector, fresh_topic, until
from tests.examples import IS_WHOLE
from tests.servers.mosquitto import PASSWORD, USER, MosquittoServer

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
KILLS = 30 if IS_WHOLE else 2
TEXTS = Schema(
    (
        Column("said", "string"),
        Column("topic", "string"),
        Column("kept", "boolean"),
        Column("again", "boolean"),
    )
)
BESIDE: dict[str, Option] = {
    "format": "text",
    "topic_column": "topic",
    "retained_column": "kept",
    "again_column": "again",
}


class Reading:
    """One home with a stream of texts, and what has been read of it."""

    def __init__(self, broker: MosquittoServer, home: Path, spark: SparkSession, **more: Option):
        schema = more.pop("schema", TEXTS)
        assert isinstance(schema, Schema)
        self.definition = StreamDefinition("s", schema, connector(broker, **more))
        self.around = Surroundings(spark, HandClock(7.0), home, lambda: LOOPBACK)
        self.after: Boundary | None = None
        self.rows: list[dict[str, object]] = []
        self.rejects: list[dict[str, object]] = []

    @contextmanager
    def opened(self) -> Iterator[Mqtt]:
        Mqtt.check(self.definition)
        source = Mqtt(self.definition, self.around)
        source.open(self.after)
        try:
            yield source
        finally:
            source.close()

    def take(self, source: Mqtt, rows: int, rejects: int = 0) -> None:
        """Read until there are so many."""

        def enough() -> bool:
            try:
                offer = source.next()
            except SourceError:
                return False
            if offer is not None:
                self.after = offer.boundary
                ingest = source.read(offer.boundary)
                self.rows += ingest.rows.to_pylist()  # type: ignore[union-attr]
                self.rejects += ingest.rejects.to_pylist() if ingest.rejects else []
            return len(self.rows) >= rows and len(self.rejects) >= rejects

        until(enough)

    @property
    def said(self) -> list[object]:
        return [row["said"] for row in self.rows]


@pytest.fixture
def reading(
    mosquitto: MosquittoServer, tmp_path: Path, spark: SparkSession
) -> Callable[..., Reading]:
    def made(**more: Option) -> Reading:
        return Reading(mosquitto, tmp_path / "home", spark, **(BESIDE | more))

    return made


def subscribed(source: Mqtt) -> None:
    """Wait until the broker keeps what is published."""
    until((source._log._around.home / "session.json").exists)
    until(lambda: json.loads((source._log._around.home / "session.json").read_text())["begun"])


@pytest.fixture
def case(mosquitto: MosquittoServer) -> Case:
    topic = fresh_topic()

    def feed(interface: Interface) -> None:
        assert isinstance(interface, Mqtt)
        subscribed(interface)
        for at in range(0, 12, 3):
            texts = [json.dumps({**row, "ts": f"{row['ts']:%FT%TZ}"}) for row in ROWS[at : at + 3]]
            mosquitto.publish(*((f"{topic}/{at}", text) for text in texts))
            until(lambda at=at: interface._log.rows == at + 3)

    return Case(
        lambda _: connector(mosquitto, topic=f"{topic}/+", rows_per_train=3),
        feed,
        ends=False,
        allowed=LOOPBACK,
    )


def test_it_keeps_the_laws_of_what_was_drained(
    case: Case, tmp_path: Path, spark: SparkSession
) -> None:
    drained: Drained = drained_of(source_of(case, tmp_path, spark), spark)
    for law in SOURCE_LAWS:
        law(drained)


@pytest.mark.parametrize("law", FRESH_SOURCE_LAWS, ids=lambda law: law.__name__)
def test_a_fresh_source_keeps(
    law: Callable[[Source], None], case: Case, tmp_path: Path, spark: SparkSession
) -> None:
    law(source_of(case, tmp_path, spark))


def test_topics_with_wildcards_and_what_is_beside_the_payload(
    reading: Callable[..., Reading], mosquitto: MosquittoServer
) -> None:
    topic = fresh_topic()
    mosquitto.publish((f"{topic}/b/on", "old"), retain=True)
    mine = reading(topic=f"{topic}/+/on, {topic}/all/#")
    with mine.opened() as source:
        subscribed(source)
        mosquitto.publish(
            (f"{topic}/a/on", "one"), (f"{topic}/a/off", "none"), (f"{topic}/all/x/y", "two")
        )
        mine.take(source, 3)
    found = {(row["said"], row["topic"], row["kept"], row["again"]) for row in mine.rows}
    assert found == {
        ("old", f"{topic}/b/on", True, False),
        ("one", f"{topic}/a/on", False, False),
        ("two", f"{topic}/all/x/y", False, False),
    }
    with mine.opened() as source:  # the session has its topics: what is retained stays there
        mosquitto.publish((f"{topic}/a/on", "three"))
        mine.take(source, 4)
    assert mine.said[3:] == ["three"]


def test_what_is_published_while_nobody_is_there_comes_when_it_is_opened(
    reading: Callable[..., Reading], mosquitto: MosquittoServer
) -> None:
    topic = fresh_topic()
    mine = reading(topic=topic)
    with mine.opened() as source:
        subscribed(source)
    mosquitto.publish(*((topic, str(n)) for n in range(300)))
    with mine.opened() as source:
        mine.take(source, 300)
    assert mine.said == [str(n) for n in range(300)]


def test_messages_that_do_not_fit_are_rejects_with_their_place(
    mosquitto: MosquittoServer, tmp_path: Path, spark: SparkSession
) -> None:
    topic = fresh_topic()
    schema = Schema((Column("mph", "int"), Column("place", "string")))
    mine = Reading(
        mosquitto, tmp_path / "home", spark, topic=topic, topic_column="PLACE", schema=schema
    )
    bodies: list[str | bytes] = ['{"mph": 1}', '{"mph": "x"}', "", b"\xff", '{\n"mph":\n 2}', "[1"]
    with mine.opened() as source:
        subscribed(source)
        mosquitto.publish(*((topic, body) for body in bodies))
        mine.take(source, 2, 4)
    assert [tuple(row.values()) for row in mine.rows] == [(1, topic), (2, topic)]
    assert {each["kind"] for each in mine.rejects} == {"type", "syntax", "encoding"}
    by_place = {str(each["reason"]).split(":")[0] for each in mine.rejects}
    assert by_place == {f"message {n} of {topic}" for n in (2, 3, 4, 6)}


def test_a_broker_that_is_stopped_and_started_loses_nothing(
    reading: Callable[..., Reading], mosquitto: MosquittoServer
) -> None:
    topic = fresh_topic()
    mine = reading(topic=topic)
    with mine.opened() as source:
        subscribed(source)
        for number in range(6):
            if number % 2:
                mosquitto.stop()
                until(lambda: is_failing(source))
                mosquitto.start()
            mosquitto.publish((topic, str(number)))
        while set(mine.said) != set("012345"):
            mine.take(source, len(mine.rows) + 1)
    # An acknowledgement that was under way may be lost: such a message comes again, and says so.
    assert list(dict.fromkeys(mine.said)) == list("012345")
    assert len(mine.said) - 6 <= sum(bool(row["again"]) for row in mine.rows)


def test_a_session_that_the_broker_has_lost_is_told_as_a_gap(
    reading: Callable[..., Reading], mosquitto: MosquittoServer
) -> None:
    topic = fresh_topic()
    mine = reading(topic=topic, client_id="forgetful")
    with mine.opened() as source:
        subscribed(source)
    mosquitto.forget("forgetful")
    mosquitto.publish((topic, "lost"))
    with mine.opened() as source:
        mine.take(source, 0, 1)
        mosquitto.publish((topic, "kept"))
        mine.take(source, 1, 1)
    assert (mine.said, mine.rejects[0]["kind"]) == (["kept"], "gap")


def test_who_may_not_read_or_log_in_is_told_and_the_password_is_not(
    reading: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_SECRET_MQ", PASSWORD + "x")
    mine = reading(topic="a", user=USER, password=Secret("MQ"))
    with mine.opened() as source:
        until(lambda: is_failing(source))
        with pytest.raises(SourceError, match="user, password") as told:
            source.next()
        assert PASSWORD not in str(told.value)
        monkeypatch.setenv("PENSTOCK_SECRET_MQ", PASSWORD)  # looked up anew at each try
        until(lambda: not is_failing(source))


def test_a_broker_that_is_not_there_or_not_allowed_is_told(reading: Callable[..., Reading]) -> None:
    with reading(topic="a", port=1).opened() as source:
        until(lambda: is_failing(source))
    with pytest.raises(NotAllowedError), reading(topic="a", host="192.0.2.1").opened():
        pass


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, BadOptionError),
        ({"topic": "a/#/b"}, BadOptionError),
        ({"topic": "a,"}, BadOptionError),
        ({"topic": "a+"}, BadOptionError),
        ({"topic": "a", "format": "xml"}, BadOptionError),
        ({"topic": "a", "password": "plain"}, BadOptionError),
        ({"topic": "a", "topic_column": "nowhere"}, UnknownColumnError),
        ({"topic": "a", "topic_column": "kept"}, BadOptionError),
    ],
)
def test_bad_options_are_told_before_anything_is_opened(
    options: dict[str, Option], error: type[Exception]
) -> None:
    given: dict[str, Option] = {"host": "h", **options}
    with pytest.raises(error):
        Mqtt.check(StreamDefinition("s", TEXTS, Connector("mqtt", tuple(given.items()))))


@pytest.mark.timeout(1800)  # with thirty lives
def test_a_reader_that_is_killed_again_and_again_has_every_message_and_tells_doubles(
    reading: Callable[..., Reading], mosquitto: MosquittoServer, tmp_path: Path
) -> None:
    topic, stop, published = fresh_topic(), threading.Event(), 0
    mine = reading(topic=topic)
    with mine.opened() as source:
        subscribed(source)

    def publish() -> None:
        nonlocal published
        while not stop.is_set():
            mosquitto.publish(*((topic, str(n)) for n in range(published, published + 20)))
            published += 20
            stop.wait(0.005)

    publisher = threading.Thread(target=publish)
    publisher.start()
    try:
        for life in range(KILLS):
            reader = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.engine.mqtt.reader",
                    *map(str, (tmp_path / "home", topic, mosquitto.port)),
                ],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
                stdout=subprocess.PIPE,
            )
            assert reader.stdout is not None
            with reader.stdout as said:
                assert said.readline() == b"came\n"
                time.sleep(0.017 * (life % 7))
                reader.kill()
                reader.wait()
    finally:
        stop.set()
        publisher.join(PATIENCE)
    with mine.opened() as source:
        mine.take(source, published)
        while {int(str(said)) for said in mine.said} != set(range(published)):
            mine.take(source, len(mine.rows) + 1)  # doubles came before the last ones
    numbers = [int(str(said)) for said in mine.said]
    assert set(numbers) == set(range(published))
    assert len(numbers) - published <= sum(bool(row["again"]) for row in mine.rows)


def is_failing(source: Mqtt) -> bool:
    return source._failure is not None
