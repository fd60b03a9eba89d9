"""What tests of several rooms share."""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from penstock.engine.spark.application.class_archive import OPTIONS_VARIABLE, archive_options
from tests.examples import examples
from tests.servers.kafka import KafkaServer, running_kafka
from tests.servers.mosquitto import MosquittoServer, running_mosquitto
from tests.servers.postgres import PostgresServer, running_postgres

# A law does not depend on how busy the machine is, and what a run says of it not on luck: each
# looks at the same examples. `--hypothesis-profile=explore` looks at others every time.
settings.register_profile(
    "explore",
    deadline=None,
    derandomize=False,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("penstock", settings.get_profile("explore"), derandomize=True)
settings.load_profile("penstock")

# For the Sparks of processes that tests start, which inherit the environment: none lives long
# enough to earn back what the optimizing compiler and a concurrent collector cost. Not by a
# directory of settings, which would stand on the class path and shut out the class archive.
os.environ.setdefault(OPTIONS_VARIABLE, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# This run's own lives long enough: Java takes the last word on a flag.
LASTING = "-XX:TieredStopAtLevel=4 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Give one small Spark to the whole run."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("penstock-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", f"{LASTING} {archive_options()}")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Give one PostgreSQL to the whole run; `postgres.database()` is one for a test alone."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def mosquitto() -> Iterator[MosquittoServer]:
    """Give one MQTT broker to the whole run; each test has topics of its own."""
    with running_mosquitto() as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """Give one Kafka to the whole run; `kafka.topic()` is one for a test alone."""
    with running_kafka() as server:
        yield server


# Files that take half a minute and more begin first, so that no worker waits for another's last.
LONGEST = (
    "test_command_killed",
    "test_many",
    "test_names",
    "test_spark_dies",
    "test_cluster",
    "test_kill",
    "test_bundles",
    "test_cli",
    "test_grouping_sets",
    "test_shared_scans",
    "test_daily_sql",
    "test_serve_killed",
    "test_http",
    "test_page",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, and end with those that need no Spark."""
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> tuple[bool, int]:
    stem = item.path.stem
    needs_none = item.nodeid.startswith("tests/unit")
    return needs_none, LONGEST.index(stem) if stem in LONGEST else len(LONGEST)
