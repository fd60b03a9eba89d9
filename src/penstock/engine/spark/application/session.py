"""Spark sessions: one for small trains, one for large ones, over one Spark application."""

import logging
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.engine.spark.application.class_archive import archive_options
from penstock.engine.spark.application.cores import Cores
from penstock.engine.spark.application.master import refuse_unreachable, submitted
from penstock.engine.spark.application.shipped_package import ship
from penstock.engine.spark.application.spark_life import forget_dead
from penstock.engine.spark.application.workers_check import look_at_workers
from penstock.engine.spark.spark_functions import close_doors, refuse_harmless
from penstock.errors import BadOptionError, SparkMissingError

# Adaptive execution adds a job for each stage, which costs more than it finds in a train.
SHARED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.runSQLOnFiles": "false",  # FROM text.`/etc/passwd` reads no file
    "spark.sql.variable.substitute": "false",  # ${env:SECRET} is text, in every statement
    # Of trains that tasks write, footers tell the times, and Arrow reads what it would write.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # Else a union of branches that each one task does becomes one task for all of them.
    "spark.sql.unionOutputPartitioning": "false",
}
# A small train is done before the compiler would have been (docs/decisions/0002).
SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.leafNodeDefaultParallelism": "1",
}
# One method for a stage with dozens of conditions is longer than the JVM compiles; without whole
# stages Spark makes it of several (48 conditions: 0.4 s instead of 1.7 for 200 thousand rows).
WIDE = {"spark.sql.codegen.wholeStage": "false"}
STARTING = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.locality.wait": "0s",  # a train is smaller than any wait
    # Thousands of small jobs an hour: what Spark remembers of each is memory and time.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1024",
}
# A Spark of one machine has nobody to talk to outside of it.
LOCAL = "local[*]"
LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
DRIVER_MEMORY = "2g"
DRIVER_JAVA = "spark.driver.extraJavaOptions"
PYTHON = "spark.pyspark.python"
STANDARD_ERROR = 2
PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True)
class Sessions:
    """Faces of one Spark; `owned` says whether closing stops it.

    `tables` are the small ones among the tables that they know, by their views.
    """

    small: SparkSession
    large: SparkSession
    wide: SparkSession
    analysis: SparkSession
    cores: Cores
    owned: bool
    tables: dict[str, pa.Table] = field(default_factory=dict, compare=False)

    @property
    def slots(self) -> int:
        """Return how many tasks run at once, as it was last looked up."""
        return self.cores.now

    def look_up_slots(self) -> int:
        """Look how many tasks run at once now, and spread large trains over as many."""
        before = self.cores.now
        if (found := self.cores.look()) != before:
            for session in (self.large, self.wide):
                session.conf.set(PARTITIONS, str(found))
        return found

    def teach(self, definitions: Sequence[str]) -> None:
        """Run statements that define functions in each of them."""
        for session in (self.small, self.large, self.wide, self.analysis):
            for each in definitions:
                session.sql(each)

    def stop(self) -> None:
        """Stop Spark, unless it is the caller's own."""
        if self.owned and not forget_dead():
            self.large.stop()


def open_sessions(
    master: str | None = None,
    spark: SparkSession | None = None,
    log: Path | None = None,
    allow_functions: Collection[str] = (),
    settings: Mapping[str, str] | None = None,
    shared: Path | None = None,
) -> Sessions:
    """Return sessions on a Spark of our own, or beside the caller's in its application.

    What a Spark of our own has to say goes to the file `log`. Functions that reach outside are not
    known to the sessions, but those of `allow_functions`. `settings` are for a Spark of our own.
    A cluster's workers get Penstock from here, and have to see the directory `shared`.
    """
    refuse_harmless(allow_functions)
    # Spark's client logs every error that it raises, with its trace; we raise it in our words.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    base = spark or _start(master, log, settings or {})
    try:
        look_at_workers(base.sparkContext, ship(base.sparkContext), shared)
    except BaseException:
        if spark is None and not forget_dead():
            base.stop()
        raise
    cores = Cores(base.sparkContext)
    small, large, wide, analysis = (base.newSession() for _ in range(4))
    for session in (large, wide):
        session.conf.set(PARTITIONS, str(cores.now))
    kinds = ((large, SHARED), (wide, SHARED | WIDE), (analysis, SHARED), (small, SHARED | SMALL))
    for session, own in kinds:
        close_doors(session, allow_functions)
        for name, value in own.items():
            session.conf.set(name, value)
    return Sessions(small, large, wide, analysis, cores, owned=spark is None)


def _start(master: str | None, log: Path | None, settings: Mapping[str, str]) -> SparkSession:
    _refuse_ours(settings)
    given = submitted()
    chosen = master or given.get("spark.master", LOCAL)
    refuse_unreachable(chosen)
    # Spark starts Python workers by this name; theirs must be the driver's Python.
    if PYTHON in settings:
        os.environ["PYSPARK_PYTHON"] = settings[PYTHON]
    elif PYTHON not in given:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(chosen).appName("penstock")
    near = LOOPBACK if chosen.startswith("local") else {}
    ours = STARTING | near | {"spark.driver.memory": DRIVER_MEMORY}
    asked = {name: value for name, value in ours.items() if name not in given} | dict(settings)
    asked[DRIVER_JAVA] = f"{_java_options()} {settings.get(DRIVER_JAVA, '')}".rstrip()
    for name, value in (asked | SHARED).items():
        builder = builder.config(name, value)
    forget_dead()
    try:
        with _errors_to(log):
            return builder.getOrCreate()
    except (PySparkException, Py4JError, RuntimeError, OSError) as error:
        told = f"; {log} says more" if log is not None else ""
        raise SparkMissingError(
            f"Spark does not start on {chosen}: {_first_words(error)}",
            hint=f"Java 17 or newer must be in JAVA_HOME or on PATH, the master reachable{told}",
        ) from error


def _java_options() -> str:
    log4j = Path(__file__).with_name("log4j2.properties").as_uri()
    return f"-Dlog4j2.configurationFile={log4j} {archive_options()}".rstrip()


def _first_words(error: Exception) -> str:
    """Return what Spark's Java says, or else the error's first line."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.getMessage()).splitlines()[0]
    return str(error).splitlines()[0]


def _refuse_ours(settings: Mapping[str, str]) -> None:
    """Raise where a setting is none of Spark's, or one that Penstock has to set itself."""
    for name, value in settings.items():
        if not name.startswith("spark."):
            raise BadOptionError(
                f"{name} is no setting of Spark", hint="their names begin with spark."
            )
        if name == "spark.master":
            raise BadOptionError(f"{name} is given as a setting", hint="--master names the master")
        if SHARED.get(name, value) != value:
            raise BadOptionError(
                f"{name} is {value}, and Penstock needs {SHARED[name]}", hint="leave it out"
            )


@contextmanager
def _errors_to(log: Path | None) -> Iterator[None]:
    """Give the JVM that starts inside the file as its standard error.

    It greets every user with a warning about modules that no option silences.
    """
    if log is None:
        yield
        return
    kept = os.dup(STANDARD_ERROR)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), STANDARD_ERROR)
        yield
    finally:
        os.dup2(kept, STANDARD_ERROR)
        os.close(kept)
