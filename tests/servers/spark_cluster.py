"""A Spark cluster of this machine for tests: one master, and workers of one core each.

Its Python workers are started by a Python that does not find Penstock.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.e2e.support import PATIENCE, until

LOOPBACK = "127.0.0.1"
WORKER = r"Registering worker (\S+:\d+)"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # as in tests/conftest.py
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.defaultJavaOptions": SHORT_LIVED,
    "spark.driver.host": LOOPBACK,
}


@dataclass(frozen=True)
class Daemon:
    """A master or a worker in a process group of its own, with the executors that it starts."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """Kill it with -9, and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def said(self, words: str) -> int:
        """Return how often it said something."""
        return self.log.read_text(errors="replace").count(words)

    def named(self, pattern: str) -> set[str]:
        """Return what a pattern has found in what it said."""
        return set(re.findall(pattern, self.log.read_text(errors="replace")))


class Cluster:
    """A master and its workers; `python` is theirs."""

    def __init__(self, place: Path, stack: ExitStack) -> None:
        self._place, self._stack = place, stack
        self.python = python_without_penstock(place)
        self.master = self._start("master.Master", "--port", "0")
        until(self.master.log.read_text, lambda: self.master.said("elected leader") > 0)
        (self.address,) = self.master.named(rf"spark://{LOOPBACK}:\d+")
        self.workers: list[Daemon] = []
        self.grow()
        self.grow()
        until(self.master.log.read_text, lambda: len(self.master.named(WORKER)) >= 2)

    @property
    def surroundings(self) -> dict[str, str]:
        """Return the environment of who runs on it."""
        return {"SPARK_LOCAL_IP": LOOPBACK, "PYSPARK_PYTHON": str(self.python)}

    def grow(self) -> Daemon:
        """Start one more worker."""
        room = self._place / f"work-{len(self.workers)}"
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(room))
        worker = self._start("worker.Worker", *size, self.address)
        self.workers.append(worker)
        return worker

    def submitting(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return an environment that gives settings to a Spark of Python's."""
        told = [f"--conf '{name}={value}'" for name, value in (SETTINGS | dict(settings)).items()]
        return self.surroundings | {"PYSPARK_SUBMIT_ARGS": " ".join((*told, "pyspark-shell"))}

    def _start(self, name: str, *arguments: str) -> Daemon:
        """Start one of Spark's daemons; it dies with the stack, whatever happens."""
        home = Path(pyspark.__file__).parent
        log = self._place / f"{name.rpartition('.')[2]}-{len(list(self._place.glob('*.log')))}.log"
        around = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with log.open("wb") as out:
            process = subprocess.Popen(
                [
                    str(home / "bin" / "spark-class"),
                    f"org.apache.spark.deploy.{name}",
                    *("--host", LOOPBACK, "--webui-port", "0"),
                    *arguments,
                ],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=around
                | {
                    "SPARK_HOME": str(home),
                    "SPARK_LOCAL_IP": LOOPBACK,
                    "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
                },
                start_new_session=True,
            )
        daemon = Daemon(process, log)
        self._stack.callback(daemon.kill)
        return daemon


def python_without_penstock(place: Path) -> Path:
    """Make a command that is this Python with all its packages but Penstock."""
    packages = place / "packages"
    packages.mkdir()
    for entry in Path(pyspark.__file__).parents[1].iterdir():
        if "penstock" not in entry.name and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    command = place / "python"
    base = getattr(sys, "_base_executable", sys.executable)
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec "{base}" -S "$@"\n')
    command.chmod(0o755)
    return command


@contextmanager
def running_cluster(place: Path) -> Iterator[Cluster]:
    """Run a cluster with two workers of one core each."""
    place.mkdir()
    with ExitStack() as stack:
        yield Cluster(place, stack)
