"""Spark sessions: one for small trains, one for large ones, over one Spark application."""

import logging
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.engine.spark.application.class_archive import archive_options
from penstock.engine.spark.application.spark_life import forget_dead
from penstock.engine.spark.spark_functions import close_doors, refuse_harmless
from penstock.errors import SparkMissingError

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
LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
DRIVER_MEMORY = "2g"
STANDARD_ERROR = 2


@dataclass(frozen=True, slots=True)
class Sessions:
    """Faces of one Spark; `owned` says whether closing stops it.

    `tables` are the small ones among the tables that they know, by their views.
    """

    small: SparkSession
    large: SparkSession
    wide: SparkSession
    analysis: SparkSession
    slots: int
    owned: bool
    tables: dict[str, pa.Table] = field(default_factory=dict, compare=False)

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
    master: str = "local[*]",
    spark: SparkSession | None = None,
    log: Path | None = None,
    allow_functions: Collection[str] = (),
    settings: Mapping[str, str] | None = None,
) -> Sessions:
    """Return sessions on a Spark of our own, or beside the caller's in its application.

    What a Spark of our own has to say goes to the file `log`. Functions that reach outside are not
    known to the sessions, but those of `allow_functions`. `settings` are for a Spark of our own.
    """
    refuse_harmless(allow_functions)
    # Spark's client logs every error that it raises, with its trace; we raise it in our words.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    base = spark or _start(master, log, settings or {})
    slots = max(1, base.sparkContext.defaultParallelism)
    small, large, wide, analysis = (base.newSession() for _ in range(4))
    for session in (large, wide):
        session.conf.set("spark.sql.shuffle.partitions", str(slots))
    kinds = ((large, SHARED), (wide, SHARED | WIDE), (analysis, SHARED), (small, SHARED | SMALL))
    for session, own in kinds:
        close_doors(session, allow_functions)
        for name, value in own.items():
            session.conf.set(name, value)
    return Sessions(small, large, wide, analysis, slots, owned=spark is None)


def _start(master: str, log: Path | None, settings: Mapping[str, str]) -> SparkSession:
    # Spark starts Python workers by this name; theirs must be the driver's Python.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    log4j = Path(__file__).with_name("log4j2.properties").as_uri()
    builder = SparkSession.builder.master(master).appName("penstock")
    options = f"-Dlog4j2.configurationFile={log4j} {archive_options()}".rstrip()
    builder = builder.config("spark.driver.extraJavaOptions", options)
    builder = builder.config("spark.driver.memory", DRIVER_MEMORY)
    near = LOOPBACK if master.startswith("local") else {}
    for name, value in (STARTING | near | dict(settings) | SHARED).items():
        builder = builder.config(name, value)
    forget_dead()
    try:
        with _errors_to(log):
            return builder.getOrCreate()
    except (PySparkException, RuntimeError, OSError) as error:
        told = f"; {log} says more" if log is not None else ""
        raise SparkMissingError(
            f"Spark does not start on {master}: {str(error).splitlines()[0]}",
            hint=f"Java 17 or newer must be in JAVA_HOME or on PATH, the master reachable{told}",
        ) from error


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
