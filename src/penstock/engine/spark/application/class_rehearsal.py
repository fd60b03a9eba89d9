"""Rehearsal: a Spark that does once what units do, so that Java loads what they will need.

python -m penstock.engine.spark.application.class_rehearsal
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.engine.spark.application.session import Sessions, open_sessions

VIEW = "rehearsed"
ROWS = pa.table({"k": ["a", "b", "c"], "v": [1.5, 2.5, 3.5], "n": [1, 2, 3]})
SELECTS = (
    f"SELECT k, v + 1 AS v FROM {VIEW} WHERE v > 2 AND k LIKE 'c%'",
    f"SELECT k, count(*) AS n, sum(v) AS s, max(n) AS m FROM {VIEW} GROUP BY k",
    f"SELECT a.k, b.v FROM {VIEW} AS a JOIN {VIEW} AS b ON a.k = b.k AND a.n <= b.n",
    f"SELECT k, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM {VIEW} ORDER BY n",
)


def rehearse(sessions: Sessions, directory: Path) -> None:
    """Run small units, large ones and Python workers."""
    for session in (sessions.small, sessions.large, sessions.analysis):
        session.createDataFrame(ROWS).createOrReplaceTempView(VIEW)
        for sql in SELECTS:
            session.sql(sql).toArrow()
    _rehearse_files(sessions.large, directory)
    sessions.large.createDataFrame(ROWS).mapInArrow(
        _unchanged, "k string, v double, n long"
    ).toArrow()


def _rehearse_files(session: SparkSession, directory: Path) -> None:
    for kind in ("parquet", "json", "csv"):
        path = str(directory / kind)
        frame = session.createDataFrame(ROWS)
        frame.write.format(kind).save(path)
        session.read.schema(frame.schema).format(kind).load(path).toArrow()


def _unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def main() -> None:
    """Rehearse, and wait until Java has ended and so written its archive."""
    sessions = open_sessions()
    with TemporaryDirectory() as directory:
        rehearse(sessions, Path(directory))
    sessions.stop()
    gateway = SparkContext._gateway
    assert gateway is not None  # noqa: S101  (sessions were open)
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main()
