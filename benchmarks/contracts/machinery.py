"""What contracts cost while gates are open, at half of what can be done, in CPU."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from pyspark.sql import SparkSession

from benchmarks.contracts.penstock_side import drain, source_reader, system
from benchmarks.contracts.scene import MAX_ERROR, QUERIES, Query, amounts
from benchmarks.cpu import sampling
from benchmarks.session import start_spark
from penstock.client import Connection

HALF = 0.5
WARM_SECONDS, SECONDS = 4.0, 8.0
PATIENCE_SECONDS = 30.0
WARM_TURNS, TURNS = 2, 10


@dataclass(frozen=True, slots=True)
class Cost:
    """Rows for a second of CPU with contracts over those without: the median, and every turn's.

    In a turn both follow one another, in one Spark, now the one first and now the other: compilers
    go on for minutes. `dropped` are the rows that gates let go of.
    """

    ratio: float
    dispatcher: tuple[float, ...]
    dropped: int


def costs(capacity: int, dispatcher: int = TURNS) -> dict[str, Cost]:
    """Measure the queries that allow an error by themselves, and all of the scene."""
    spark = start_spark()
    try:
        rough = tuple(query for query in QUERIES if query.rough)
        return {
            "rough": _cost(spark, capacity, rough, dispatcher),
            "rough and exact": _cost(spark, capacity, QUERIES, dispatcher),
        }
    finally:
        spark.stop()


def _cost(spark: SparkSession, capacity: int, queries: Sequence[Query], dispatcher: int) -> Cost:
    found, dropped = list[float](), 0
    for turn in range(WARM_TURNS + dispatcher):
        seconds = dict[float | None, float]()
        for max_error in (None, MAX_ERROR) if turn % 2 else (MAX_ERROR, None):
            seconds[max_error], gone = _turn(spark, capacity, queries, max_error)
            dropped += gone if turn >= WARM_TURNS else 0
        found.append(seconds[None] / seconds[MAX_ERROR])
    counted = found[WARM_TURNS:]
    return Cost(median(counted), tuple(counted), dropped)


def _turn(
    spark: SparkSession, capacity: int, queries: Sequence[Query], max_error: float | None
) -> tuple[float, int]:
    """Return the CPU seconds of half load, and the rows that were dropped."""
    drawn, rate = np.random.default_rng(1), capacity * HALF
    with system(max_error, spark, queries) as connection:
        source_reader(connection, drawn, amounts("constant", rate, WARM_SECONDS))
        drain(connection, PATIENCE_SECONDS)
        before = _dropped(connection)
        with sampling(spark) as usage:
            began = time.time()
            source_reader(connection, drawn, amounts("constant", rate, SECONDS))
            drain(connection, PATIENCE_SECONDS)
            over = time.time()
        return usage.between(began, over), _dropped(connection) - before


def _dropped(connection: Connection) -> int:
    table = connection.sql("SHOW QOS").table
    return sum(table["shed_rows"].to_pylist()) if table is not None else 0
