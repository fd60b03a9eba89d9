"""On a Spark cluster of its own, one worker of which is killed, a script gives the same files."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import penstock
from tests.e2e import scenario
from tests.e2e.children import Child
from tests.e2e.support import PATIENCE, finish, until

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.timeout(600)]

ROWS, ROWS_PER_TRAIN = 48_000, 12_000  # trains that executors read as Parquet
LOOPBACK = "127.0.0.1"
WORKER = r"Registering worker (\S+:\d+)"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # as in tests/conftest.py
SURROUNDINGS = {
    "SPARK_LOCAL_IP": LOOPBACK,
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
    "PYSPARK_SUBMIT_ARGS": " ".join(
        (
            "--conf spark.executor.memory=512m",
            "--conf spark.executor.cores=1",
            f"--conf 'spark.executor.defaultJavaOptions={SHORT_LIVED}'",
            f"--conf spark.driver.host={LOOPBACK}",
            "pyspark-shell",
        )
    ),
}


@dataclass(frozen=True)
class Daemon:
    """A master or a worker in a process group of its own, with the executors that it starts."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def said(self, words: str) -> int:
        return self.log.read_text(errors="replace").count(words)

    def named(self, pattern: str) -> set[str]:
        return set(re.findall(pattern, self.log.read_text(errors="replace")))


@dataclass(frozen=True)
class Cluster:
    """A master and its workers."""

    address: str
    master: Daemon
    workers: list[Daemon]


def start(stack: ExitStack, place: Path, name: str, *arguments: str) -> Daemon:
    """Start one of Spark's daemons; it dies with the stack, whatever happens."""
    home = Path(pyspark.__file__).parent
    log = place / f"{name.rpartition('.')[2]}-{len(list(place.glob('*.log')))}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | SURROUNDINGS | {"SPARK_HOME": str(home)},
            start_new_session=True,
        )
    daemon = Daemon(process, log)
    stack.callback(daemon.kill)
    return daemon


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    place = tmp_path / "cluster"
    place.mkdir()
    here = ("--host", LOOPBACK, "--webui-port", "0")
    with ExitStack() as stack:
        master = start(stack, place, "master.Master", *here, "--port", "0")
        until(master.log.read_text, lambda: master.said("elected leader") > 0)
        (address,) = set(re.findall(rf"spark://{LOOPBACK}:\d+", master.log.read_text()))
        workers = [
            start(
                stack,
                place,
                "worker.Worker",
                *(*here, "--cores", "1", "--memory", "1g"),
                *("--work-dir", str(place / f"work-{number}"), address),
            )
            for number in range(2)
        ]
        until(master.log.read_text, lambda: len(master.named(WORKER)) == 2)
        yield Cluster(address, master, workers)


def test_a_killed_worker_changes_nothing_in_what_a_cluster_gives(
    cluster: Cluster, spark: SparkSession, tmp_path: Path
) -> None:
    rows = scenario.make_rows(ROWS, seconds=900)
    script = scenario.prepare(tmp_path, rows, rows_per_train=ROWS_PER_TRAIN)
    told = {
        "home": str(tmp_path / "home"),
        "master": cluster.address,
        "script": script.format(out=tmp_path / "out"),
    }
    child = Child(tmp_path / "child", told, SURROUNDINGS)
    try:
        assert child.wait_for("standing"), child.errors()
        until(child.errors, lambda: any((tmp_path / "out").glob("*/part-*")))
        cluster.workers[0].kill()
        assert child.wait_for("done"), child.errors()
        assert cluster.master.said("Registering app") > 0
        assert cluster.master.said("Launching executor") >= 2
    finally:
        child.kill()
    with penstock.connect(tmp_path / "local", spark=spark) as ps:
        ps.script(script.format(out=tmp_path / "expected"))
        finish(ps)
    scenario.same(scenario.contents(tmp_path / "out"), scenario.contents(tmp_path / "expected"))
