"""Kafka from SQL: records in, a query, records out; each row once, whoever dies."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import NotAllowedError
from tests.e2e.children import Child
from tests.e2e.support import PATIENCE, figures, finish, results, rows_of, stream_figures, until
from tests.examples import IS_WHOLE
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.spark
LIVES = 30 if IS_WHOLE else 1  # each of which is killed
ROWS, PARTITIONS = (60_000 if IS_WHOLE else 15_000), 3
SCRIPT = """
CREATE STREAM cars (ts TIMESTAMP, n BIGINT, mph INT, lane INT) TIMESTAMP BY ts
  FROM kafka(servers => '{servers}', topic => '{given}', format => 'json', bounded => true,
    partition_column => 'lane', rows_per_train => 50);
CREATE QUERY fast AS SELECT n, mph, lane FROM cars WHERE mph > 40
  INTO kafka(servers => '{servers}', topic => '{made}', key => 'n');
CREATE QUERY counts AS SELECT window_start, lane, count(*) AS n FROM cars [RANGE 10 SECONDS]
  GROUP BY lane;
"""


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark, hosts=["127.0.0.1"]) as connection:
        yield connection


def car(n: int) -> bytes:
    """Return a car; those of a partition come in order, and each partition begins elsewhere."""
    at = f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z"
    return json.dumps({"ts": at, "n": n, "mph": n % 97}).encode()


@pytest.mark.timeout(1800)
def test_killed_in_the_middle_it_has_every_row_once(
    kafka: KafkaServer, spark: SparkSession, tmp_path: Path
) -> None:
    given, made = kafka.topic(PARTITIONS), kafka.topic(2)
    for lane in range(PARTITIONS):
        kafka.send(given, map(car, range(lane, ROWS, PARTITIONS)), lane)
    script = SCRIPT.format(servers=kafka.servers, given=given, made=made)
    fast = [n for n in range(ROWS) if n % 97 > 40]
    pick = random.Random(7)
    killed = 0
    for life in range(LIVES):
        told = {"home": str(tmp_path / "home"), "script": script if not life else "SHOW QUERIES"}
        child = Child(tmp_path / f"life-{life}", told | {"hosts": ["127.0.0.1"]})
        assert child.wait_for("standing"), child.errors()
        before = len(kafka.read(made))
        deadline = time.monotonic() + PATIENCE
        while len(kafka.read(made)) <= before < len(fast) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(pick.random() * 0.7)
        child.kill()
        killed += 1
        if len(kafka.read(made)) >= len(fast):
            break
    assert killed
    with penstock.connect(tmp_path / "home", spark=spark, hosts=["127.0.0.1"]) as ps:
        finish(ps)
        counts = results(ps, "counts").to_pylist()
    written = [json.loads(message.value() or b"") for message in kafka.read(made)]
    assert sorted(row["n"] for row in written) == fast
    assert all(row["lane"] == row["n"] % PARTITIONS for row in written)
    assert sum(row["n"] for row in counts) == ROWS  # nobody was late, however partitions came


def test_a_broker_that_is_away_holds_the_query_and_resume_goes_on(
    ps: Connection, kafka: KafkaServer
) -> None:
    given, made = kafka.topic(), kafka.topic()
    place = f"servers => '{kafka.servers}', timeout => INTERVAL 1 SECOND"
    ps.script(
        f"CREATE STREAM s (n BIGINT, k STRING) FROM kafka({place}, topic => '{given}', "
        "format => 'json', key_column => 'k');"
        "CREATE STREAM p (n BIGINT) FROM push();"
        f"CREATE QUERY q AS SELECT n FROM p INTO kafka({place}, topic => '{made}');"
        "CREATE QUERY r AS SELECT n, k FROM s"
    )
    kafka.send(given, [("a", b'{"n": 1}'), ("b", b"{")])
    ps.push("p", [{"n": 1}])
    until(ps, lambda: figures(ps, "q")["rows_out"] == 1 == figures(ps, "r")["rows_out"])
    kafka.kill()
    ps.push("p", [{"n": 2}])
    until(ps, lambda: figures(ps, "q")["state"] == "FAILED")
    assert "SINK_FAILED" in figures(ps, "q")["cause"]
    until(ps, lambda: "Kafka at 127.0.0.1" in stream_figures(ps, "s")["cause"])
    kafka.start()
    kafka.send(given, [("c", b'{"n": 3}')])
    ps.sql("RESUME QUERY q")
    until(ps, lambda: figures(ps, "q")["rows_out"] == 2 == figures(ps, "r")["rows_out"])
    assert [json.loads(m.value() or b"")["n"] for m in kafka.read(made)] == [1, 2]
    assert results(ps, "r").to_pylist()[-1]["k"] == "c"
    (reject,) = rows_of(ps.sql("SELECT reason FROM s.rejects").table)
    assert f"({given}, partition 0, offset 1)" in reject["reason"]


def test_a_broker_that_nobody_allowed_is_refused_at_create(ps: Connection) -> None:
    with pytest.raises(NotAllowedError):
        ps.sql("CREATE STREAM s (x INT) FROM kafka(servers => '192.0.2.1', topic => 'a', "
               "format => 'json')")  # fmt: skip
