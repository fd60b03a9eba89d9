"""The one Spark that both sides use, each with sessions of its own."""

import os
import sys
from dataclasses import dataclass

from pyspark.sql import SparkSession

CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing"
STATE = "org.apache.spark.sql.execution.streaming.state"

# What both sides share; the rest each sets on its own sessions.
APPLICATION = {
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1024",
}
# Structured Streaming at its best: this file manager does not fork some twenty processes a batch.
STREAMING = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{CHECKPOINTING}.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


@dataclass(frozen=True, slots=True)
class Store:
    """One of Structured Streaming's state stores."""

    name: str
    provider: str


STORES = (
    Store("HDFS-backed", f"{STATE}.HDFSBackedStateStoreProvider"),
    Store("RocksDB", f"{STATE}.RocksDBStateStoreProvider"),
)


def start_spark(**more: str) -> SparkSession:
    """Start Spark on all cores of this machine; `more` is set, too."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[*]").appName("penstock-benchmarks")
    for name, value in {**APPLICATION, **more}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def streaming_session(spark: SparkSession, store: Store = STORES[0]) -> SparkSession:
    """Return a session for a Structured Streaming query."""
    session = spark.newSession()
    for name, value in STREAMING.items():
        session.conf.set(name, value)
    session.conf.set("spark.sql.streaming.stateStore.providerClass", store.provider)
    return session


def collect_garbage(spark: SparkSession) -> None:
    """Let no side pay for what the other left behind."""
    jvm = spark._jvm
    assert jvm is not None
    jvm.java.lang.System.gc()
