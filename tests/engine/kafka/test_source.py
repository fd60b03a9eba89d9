"""The source of Kafka against a real broker: every record once, in its place, whatever happens."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.connectors.sources import check
from penstock.engine.interfaces.interface import Boundary
from penstock.errors import (
    BadOptionError,
    NotAllowedError,
    SourceError,
    TypeMismatchError,
    UnknownColumnError,
    UnknownSecretError,
)
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
from tests.engine.kafka.places import CARS, LOOPBACK, Reading, connector, reading
from tests.examples import IS_WHOLE
from tests.servers.kafka import USER, KafkaServer

pytestmark = pytest.mark.spark


@pytest.fixture
def read(spark: SparkSession, tmp_path: Path) -> Callable[..., Any]:
    """Read a stream of some columns from a connector, on a home of this test."""

    @contextmanager
    def begin(
        source: Connector,
        schema: Schema = CARS,
        after: Boundary | None = None,
        clock: HandClock | None = None,
        **more: Any,
    ) -> Iterator[Reading]:
        definition = StreamDefinition("cars", schema, source, **more)
        check(definition)
        with reading(definition, spark, tmp_path / "home", after, clock) as found:
            yield found

    return begin


def car(mph: int, at: str = "2026-01-01T00:00:00Z") -> bytes:
    return json.dumps({"ts": at, "id": f"car {mph}", "mph": mph}).encode()


def speeds(rows: list[dict[str, Any]]) -> list[int]:
    return [row["mph"] for row in rows]


def a_topic_of_rows(kafka_server: KafkaServer, **options: Option) -> Case:
    """Return a case of the twelve rows in three partitions."""

    def made(_: Path) -> Connector:
        topic = kafka_server.topic(3)
        for partition in range(3):
            rows = [{**row, "ts": row["ts"].isoformat()} for row in ROWS[partition::3]]
            kafka_server.send(topic, [json.dumps(row).encode() for row in rows], partition)
        return connector(kafka_server, topic=topic, format="json", rows_per_train=5, **options)

    return Case(made, ends=bool(options.get("bounded")), allowed=LOOPBACK)


@pytest.fixture(scope="module", params=[True, False], ids=["bounded", "endless"])
def drained(
    request: pytest.FixtureRequest,
    kafka: KafkaServer,
    tmp_path_factory: pytest.TempPathFactory,
    spark: SparkSession,
) -> Drained:
    case = a_topic_of_rows(kafka, bounded=request.param)
    return drained_of(source_of(case, tmp_path_factory.mktemp("drained"), spark), spark)


@pytest.mark.parametrize("law", SOURCE_LAWS, ids=lambda law: law.__name__)
def test_a_source_that_was_drained_keeps(law: Callable[[Drained], None], drained: Drained) -> None:
    law(drained)


@pytest.mark.parametrize("law", FRESH_SOURCE_LAWS, ids=lambda law: law.__name__)
def test_a_fresh_source_keeps(
    law: Callable[[Source], None], kafka: KafkaServer, tmp_path: Path, spark: SparkSession
) -> None:
    law(source_of(a_topic_of_rows(kafka, bounded=True), tmp_path, spark))


def test_what_stands_beside_values_comes_in_columns(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic, at = kafka.topic(2), datetime(2026, 1, 1, 12, tzinfo=UTC)
    headers = [("a", b"old"), ("a", b"new"), ("b", None)]
    told = {"headers": headers, "timestamp": int(at.timestamp() * 1000)}
    kafka.send(topic, [(b"k", car(1)), (None, car(2))], 1, **told)
    schema = Schema(
        (
            Column("k", "string"),
            Column("mph", "int"),
            Column("h", "map<string, binary>"),
            Column("at", "timestamp"),
            Column("p", "int"),
            Column("o", "bigint"),
            Column("t", "string"),
        )
    )
    source = _kafka(
        kafka,
        topic,
        key_column="k",
        headers_column="h",
        timestamp_column="AT",
        partition_column="p",
        offset_column="o",
        topic_column="t",
    )
    with read(source, schema, time_column="at") as stream:
        rows = stream.rows(2)
    assert [tuple(row.values()) for row in rows] == [
        ("k", 1, [("a", b"new"), ("b", None)], at, 1, 0, topic),
        (None, 2, [("a", b"new"), ("b", None)], at, 1, 1, topic),
    ]


def test_what_cannot_be_read_is_rejected_with_its_place(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic = kafka.topic()
    bad = [b"{", b'{"mph": "x"}', b"\xff", b"", (b"\xfe", car(2)), b'{"mph": 3}']
    kafka.send(topic, [car(1), *bad, car(4)])
    schema = Schema((*CARS, Column("k", "string")))
    source = _kafka(kafka, topic, key_column="k")
    with read(source, schema, time_column="ts") as stream:
        assert speeds(stream.rows(2)) == [1, 4]
        rejects = stream.rejects()
    assert [each["kind"] for each in rejects] == [
        "syntax",
        "type",
        "encoding",
        "syntax",
        "encoding",
        "time",
    ]
    places = [f"({topic}, partition 0, offset {at})" for at in range(1, 7)]
    assert [each["reason"][-len(place) :] for each, place in zip(rejects, places, strict=True)] == (
        places
    )
    assert rejects[1]["column"] == "mph"


def test_a_tombstone_is_a_row_of_nulls_or_is_passed_over(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic = kafka.topic()
    kafka.send(topic, [(b"a", car(1)), (b"b", None), (b"c", b"{"), (b"d", car(4))])
    schema = Schema((Column("k", "string"), Column("mph", "int")))
    with read(_kafka(kafka, topic, key_column="k"), schema) as stream:
        assert stream.rows(3) == [
            {"k": "a", "mph": 1},
            {"k": "b", "mph": None},
            {"k": "d", "mph": 4},
        ]
    with read(_kafka(kafka, topic, key_column="k", tombstones="skip"), schema) as stream:
        assert speeds(stream.rows(2)) == [1, 4]


def test_csv_and_raw_values_are_read(kafka: KafkaServer, read: Callable[..., Any]) -> None:
    topic = kafka.topic()
    kafka.send(topic, [b"2026-01-01 00:00:00;a;1", b'2026-01-01 00:00:00;"b;c";2', b"x"])
    with read(_kafka(kafka, topic, format="csv", delimiter=";")) as stream:
        assert [(row["id"], row["mph"]) for row in stream.rows(2)] == [("a", 1), ("b;c", 2)]
        assert [each["kind"] for each in stream.rejects()] == ["fields"]
    kafka.send(topic, [b"\x00\xff"])
    for kind, count in (("binary", 4), ("string", 3)):
        with read(_kafka(kafka, topic, format="raw"), Schema((Column("v", kind),))) as stream:
            stream.until(lambda s=stream: _records(s) == 4)
            assert sum(each.rows.num_rows for each in stream.ingests) == count


def test_it_starts_where_it_is_told_and_holds_on_to_that(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic = kafka.topic()
    for second in (1, 2, 3):
        kafka.send(topic, [car(second)], timestamp=1_767_225_600_000 + second * 1000)
    start = "2026-01-01 00:00:02"
    with read(_kafka(kafka, topic, start=start)) as stream:
        assert speeds(stream.rows(2)) == [2, 3]


def test_latest_is_the_end_that_was_there_when_it_was_first_opened(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic = kafka.topic()
    kafka.send(topic, [car(1)])
    source = _kafka(kafka, topic, start="latest")
    with read(source) as stream:
        stream.until(lambda: not stream.source._feed._beginnings.is_new)
    kafka.send(topic, [car(2)])
    with read(source) as stream:
        assert speeds(stream.rows(1)) == [2]


def test_new_partitions_and_topics_of_a_pattern_are_found(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    name = kafka.topic()
    kafka.send(name, [car(1)])
    clock = HandClock(1000.0)
    with read(_kafka(kafka, pattern=f"{name}(-b)?", start="latest"), clock=clock) as stream:
        stream.until(lambda: not stream.source._feed._beginnings.is_new)
        kafka.grow(name, 2)
        kafka.topic(name=f"{name}-b")
        kafka.topic(name=f"{name}-c")
        kafka.send(name, [car(2)], 1)
        for each in ("b", "c"):
            kafka.send(f"{name}-{each}", [car(3)])

        def both() -> bool:
            clock.sleep(11.0)
            return _records(stream) == 2

        stream.until(both)
        rows = [row for each in stream.ingests for row in each.rows.to_pylist()]
    assert sorted(speeds(rows)) == [2, 3]


def test_only_what_was_committed_is_read_and_read_again(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic = kafka.topic()
    producer = Producer(kafka.client(**{"transactional.id": topic}))
    producer.init_transactions(30)
    for mph in range(6):
        producer.begin_transaction()
        producer.produce(topic, car(mph))
        producer.flush(30)
        (producer.abort_transaction if mph % 2 else producer.commit_transaction)(30)
    source = _kafka(kafka, topic, bounded=True)
    with read(source) as stream:
        assert speeds(stream.rows(9)) == [0, 2, 4]
        boundaries = stream.boundaries
    with read(source, after=boundaries[-1]) as stream:
        stream.until(lambda: stream.source.ended)
        again = [row for each in boundaries for row in stream.source.read(each).rows.to_pylist()]
        assert (speeds(again), stream.boundaries) == ([0, 2, 4], [])
    loose = _kafka(kafka, topic, bounded=True, isolation="read_uncommitted")
    with read(loose) as stream:
        assert len(stream.rows(9)) == 6


def test_what_retention_has_taken_before_it_was_read_is_an_error_by_name(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic = kafka.topic()
    kafka.send(topic, map(car, range(10)))
    with read(_kafka(kafka, topic, rows_per_train=4)) as stream:
        stream.rows(4)
        first = stream.boundaries[0]
    assert first["topics"][topic]["0"] == [0, 4, 4]
    kafka.cut_off(topic, 0, 4)
    with read(_kafka(kafka, topic), after=first) as stream:
        assert speeds(stream.rows(6)) == list(range(4, 10))
        with pytest.raises(SourceError, match="of the 4 records from 0 to 3"):
            stream.source.read(first)
    kafka.cut_off(topic, 0, 7)
    with read(_kafka(kafka, topic), after=first) as stream, pytest.raises(SourceError) as raised:
        stream.rows(1)
    assert f"{topic}, partition 0: the records from 4 to 6 are gone" in raised.value.message


def test_a_topic_that_was_made_anew_is_not_taken_for_the_old_one(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic = kafka.topic()
    kafka.send(topic, map(car, range(3)))
    with read(_kafka(kafka, topic)) as stream:
        stream.rows(3)
        last = stream.boundaries[-1]
    kafka.drop(topic)
    kafka.topic(name=topic)
    with read(_kafka(kafka, topic), after=last) as stream, pytest.raises(SourceError, match="anew"):
        stream.rows(1)


def test_partitions_say_how_far_their_time_is_and_silent_ones_do_not_wait(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic, clock = kafka.topic(3), HandClock(1000.0)
    kafka.send(topic, [car(1, "2026-01-01T00:00:09Z"), car(2, "2026-01-01T00:00:01Z")], 0)
    kafka.send(topic, [car(3, "2026-01-01T00:00:05Z")], 1)
    names = [f"{topic}/{number}" for number in range(3)]
    idle = {"time_column": "ts", "idle_after": timedelta(seconds=5)}
    with read(_kafka(kafka, topic), clock=clock, **idle) as stream:
        stream.rows(3)
        highs: dict[str, int] = {}
        for each in stream.ingests:
            for name, high in each.parts.highs.items():
                highs[name] = max(high, highs.get(name, high))
        seconds = {name: high // 1_000_000 % 60 for name, high in highs.items()}
        assert seconds == {names[0]: 9, names[1]: 5}
        stream.until(lambda: _caught_up(stream) == 3)
        kafka.send(topic, [car(4)], 0)
        stream.rows(1)
        assert set(stream.ingests[-1].parts.live) == set(names[:2])  # nothing ever came of the last
        clock.sleep(6.0)
        kafka.send(topic, [car(5)], 0)
        stream.rows(1)
        assert set(stream.ingests[-1].parts.live) == {names[0]}
        assert stream.boundaries[-1]["silent"] == names[1:]


@pytest.mark.skipif(not IS_WHOLE, reason="tests/e2e/test_kafka.py does it with a query")
def test_a_broker_that_dies_is_told_and_read_on_from_when_it_is_back(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    topic = kafka.topic()
    kafka.send(topic, [car(1)])
    with read(_kafka(kafka, topic)) as stream:
        stream.rows(1)
        kafka.kill()
        with pytest.raises(SourceError, match="127"):
            stream.rows(1)
        kafka.start()
        kafka.send(topic, [car(2)])

        def came() -> bool:
            try:
                stream.until(lambda: True)
                return bool(stream.rows(1))
            except SourceError:
                return False

        while not came():
            pass
        assert [row for each in stream.ingests for row in speeds(each.rows.to_pylist())] == [1, 2]


def test_user_and_password_are_asked_for_and_stand_in_no_error(
    kafka: KafkaServer, read: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.topic()
    kafka.send(topic, [car(1)])
    told: dict[str, Option] = {
        "topic": topic,
        "format": "json",
        "servers": kafka.sasl_servers,
        "user": USER,
        "password": Secret("KAFKA"),
        "mechanism": "plain",
        "timeout": timedelta(seconds=1),
    }
    source = Connector("kafka", tuple(told.items()))
    with read(source) as stream, pytest.raises(UnknownSecretError):
        stream.rows(1)
    monkeypatch.setenv("PENSTOCK_SECRET_KAFKA", kafka.password)
    with read(source) as stream:
        assert speeds(stream.rows(1)) == [1]
    monkeypatch.setenv("PENSTOCK_SECRET_KAFKA", "Wrong-One")
    with read(source) as stream, pytest.raises(SourceError) as raised:
        stream.rows(2)
    assert "mechanism" in raised.value.hint
    assert "Wrong-One" not in str(raised.value)


def test_a_topic_that_is_not_there_is_told_by_name(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    with read(_kafka(kafka, "nowhere")) as stream, pytest.raises(SourceError, match="nowhere"):
        stream.rows(1)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, BadOptionError),
        ({"topic": "a", "pattern": "b"}, BadOptionError),
        ({"pattern": "("}, BadOptionError),
        ({"topic": "a", "servers": "a b"}, BadOptionError),
        ({"topic": "a", "start": "soon"}, BadOptionError),
        ({"topic": "a", "user": "me"}, BadOptionError),
        ({"topic": "a", "password": "me"}, BadOptionError),
        ({"topic": "a", "ca": "x.pem"}, BadOptionError),
        ({"topic": "a", "format": "raw"}, BadOptionError),
        ({"topic": "a", "key_column": "nothing"}, UnknownColumnError),
        ({"topic": "a", "key_column": "mph"}, TypeMismatchError),
        ({"topic": "a", "key_column": "id", "topic_column": "id"}, TypeMismatchError),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: dict[str, Option], error: type[Exception]
) -> None:
    told = {"servers": "localhost:9092", "format": "json", **options}
    with pytest.raises(error):
        check(StreamDefinition("s", CARS, Connector("kafka", tuple(told.items()))))


def test_a_broker_that_nobody_allowed_is_not_asked(
    kafka: KafkaServer, read: Callable[..., Any]
) -> None:
    source = _kafka(kafka, "cars", servers=f"{kafka.servers},192.0.2.1:9092")
    with pytest.raises(NotAllowedError), read(source):
        pass


def _kafka(server: KafkaServer, topic: str | None = None, **options: Option) -> Connector:
    told: dict[str, Option] = {"format": "json", **options}
    return connector(server, **({"topic": topic} if topic else {}), **told)


def _records(stream: Reading) -> int:
    runs = [
        r for b in stream.boundaries for numbers in b["topics"].values() for r in numbers.values()
    ]
    return sum(records for _, _, records in runs)


def _caught_up(stream: Reading) -> int:
    return sum(each.caught_up for each in stream.source._feed._shared.progress.values())
