"""A real Kafka for tests: one broker in KRaft mode on loopback, gone when they are over.

Its jars come by Maven (`kafka.xml`); where they are is remembered in `build/`.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.cimpl import NewPartitions, NewTopic

LOOPBACK = "127.0.0.1"
PATIENCE = 60.0  # seconds for any one wait: the machine may be busy
DOWNLOAD_SECONDS = 300  # once: Maven keeps them
ATTEMPTS = 5  # somebody else may take a free port before the broker does
ROOT = Path(__file__).parents[2]
POM = Path(__file__).with_name("kafka.xml")
FOUND = ROOT / "build" / "kafka-classpath"
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"  # any UUID; only one broker ever has it
# Small, and quick to come up: none lives long enough to earn back what more costs.
JAVA_OPTIONS = ("-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
ABSENT = "no Kafka: its jars come by Maven (Debian: apt-get install maven), which has to reach them"
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAIN://{host}:{port},SASL://{host}:{sasl},CONTROLLER://{host}:{controller}
advertised.listeners=PLAIN://{host}:{port},SASL://{host}:{sasl}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAIN
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
log.retention.ms=-1
log.initial.task.delay.ms=500
file.delete.delay.ms=100
log.cleaner.backoff.ms=500
log.cleaner.dedupe.buffer.size=2097152
num.io.threads=2
num.network.threads=1
"""
USER = "penstock"
SILENT = 0  # of syslog's levels: a broker that dies is what tests are about


class KafkaServer:
    """One broker; each test takes topics of its own from it."""

    def __init__(self, classpath: str, place: Path) -> None:
        self._classpath, self._place = classpath, place
        self.password = "p@ss word"
        self._ports: dict[str, int] = {}
        self._numbers = count(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        """Return what clients name."""
        return f"{LOOPBACK}:{self._ports['port']}"

    @property
    def sasl_servers(self) -> str:
        """Return what clients name that come with user and password."""
        return f"{LOOPBACK}:{self._ports['sasl']}"

    def start(self) -> None:
        """Start it, on the ports that it had before, if any."""
        for _ in range(ATTEMPTS):
            ports = self._ports or dict(
                zip(("port", "sasl", "controller"), _free_ports(3), strict=True)
            )
            if self._comes_up(ports):
                return
            self._end(signal.SIGKILL)
        raise AssertionError(self.log())

    def _comes_up(self, ports: Mapping[str, int]) -> bool:
        data, settings = self._place / "data", self._place / "server.properties"
        told = {"host": LOOPBACK, "data": data, "user": USER, "password": self.password}
        settings.write_text(SETTINGS.format(**told, **ports))
        if not data.exists():
            format_it = ("kafka.tools.StorageTool", "format", "--config", str(settings))
            subprocess.run(
                [*self._java, *format_it, "--cluster-id", CLUSTER], check=True, capture_output=True
            )
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(settings)],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._ports = dict(ports)
        deadline = time.monotonic() + PATIENCE
        while self._process.poll() is None:
            with suppress(OSError):
                socket.create_connection((LOOPBACK, ports["port"]), 1.0).close()
                self.admin().list_topics(timeout=PATIENCE)
                return True
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)
        self._ports = {}
        return False

    @property
    def _java(self) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home) / "bin" / "java") if home else str(shutil.which("java"))
        return [java, *JAVA_OPTIONS, QUIET, "-cp", self._classpath]

    def stop(self) -> None:
        """Stop it; what it has is thrown away."""
        self._end(signal.SIGKILL)

    def kill(self) -> None:
        """Let it die; `start` brings it back with what it had."""
        self._end(signal.SIGKILL)

    def _end(self, by: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(by)
            self._process.wait(PATIENCE)
            self._process = None

    def admin(self) -> AdminClient:
        """Return what makes and changes topics."""
        return AdminClient(self.client())

    def client(self, **more: Any) -> dict[str, Any]:
        """Return the configuration of a client."""
        return {"bootstrap.servers": self.servers, "log_level": SILENT, **more}

    def topic(self, partitions: int = 1, name: str = "", **config: Any) -> str:
        """Make a topic, and return its name, which no other has."""
        name = name or f"topic-{next(self._numbers)}"
        told = {key.replace("_", "."): str(value) for key, value in config.items()}
        new = NewTopic(name, partitions, 1, config=told)
        _wait(self.admin(), lambda admin: admin.create_topics([new]))
        return name

    def drop(self, topic: str) -> None:
        """Delete a topic."""
        _wait(self.admin(), lambda admin: admin.delete_topics([topic]))

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        more = [NewPartitions(topic, partitions)]
        _wait(self.admin(), lambda admin: admin.create_partitions(more))

    def cut_off(self, topic: str, partition: int, offset: int) -> None:
        """Delete what lies before an offset, as retention does."""
        place = TopicPartition(topic, partition, offset)
        _wait(self.admin(), lambda admin: admin.delete_records([place]))

    def configure(self, topic: str, **config: Any) -> None:
        """Change what a topic is told."""
        told = {key.replace("_", "."): str(value) for key, value in config.items()}
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=told)
        _wait(self.admin(), lambda admin: admin.alter_configs([resource]))

    def send(self, topic: str, values: Iterable[Any], partition: int = 0, **more: Any) -> None:
        """Write values to a partition, each as it is or as (key, value)."""
        producer = Producer(self.client(**{"linger.ms": 1}))
        for value in values:
            key, content = value if isinstance(value, tuple) else (None, value)
            producer.produce(topic, content, key, partition, **more)
        assert producer.flush(PATIENCE) == 0

    def read(self, topic: str, isolation: str = "read_committed") -> list[Message]:
        """Return all that is in a topic now, partition by partition."""
        config = {
            "group.id": "test",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
        consumer = Consumer(self.client(**config))
        found: list[Message] = []
        try:
            partitions = self.admin().list_topics(topic, PATIENCE).topics[topic].partitions
            consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
            left, deadline = set(partitions), time.monotonic() + PATIENCE
            while left:
                assert time.monotonic() < deadline
                for message in consumer.consume(1000, 0.1):
                    if message.error() is None:
                        found.append(message)
                    else:  # it has nothing more
                        left.discard(message.partition())
        finally:
            consumer.close()
        return sorted(found, key=lambda message: (message.partition(), message.offset()))

    def log(self) -> str:
        """Return what the broker has said."""
        return self._log.read_text(errors="replace")

    @property
    def _log(self) -> Path:
        return self._place / "log"


@contextmanager
def running_kafka() -> Iterator[KafkaServer]:
    """Run a broker of its own; skip the test where none can be had, but not on CI."""
    classpath = _classpath()
    if classpath is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(ABSENT)
    place = Path(tempfile.mkdtemp(prefix="penstock-kafka-"))
    server = KafkaServer(classpath, place)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(place, ignore_errors=True)


def _classpath() -> str | None:
    """Return where the broker's jars are; Maven brings what is missing."""
    if FOUND.exists() and FOUND.stat().st_mtime > POM.stat().st_mtime:
        known = FOUND.read_text()
        if all(map(os.path.exists, known.split(os.pathsep))):
            return known
    maven = shutil.which("mvn")
    if maven is None:
        return None
    FOUND.parent.mkdir(exist_ok=True)
    draft = FOUND.with_name(f"{FOUND.name}-{os.getpid()}")
    build = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
    command = [maven, "-q", "-B", "-f", str(POM), build, f"-Dmdep.outputFile={draft}"]
    with suppress(subprocess.TimeoutExpired):  # where there is no network it tries for long
        subprocess.run(command, capture_output=True, timeout=DOWNLOAD_SECONDS, check=False)
    if not draft.exists():
        return None
    draft.replace(FOUND)
    return FOUND.read_text()


def _wait(admin: AdminClient, ask: Callable[[AdminClient], Mapping[Any, Future[Any]]]) -> None:
    """Wait for what was asked; the client has to live until then."""
    for done in ask(admin).values():
        done.result(PATIENCE)


def _free_ports(number: int) -> list[int]:
    probes = [socket.socket() for _ in range(number)]
    try:
        for probe in probes:
            probe.bind((LOOPBACK, 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
