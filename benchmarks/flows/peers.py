"""The sides that are not Penstock: a loop of numpy, UDFs, and Spark's path to Python alone."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

from benchmarks.contest import Said
from benchmarks.flows.signals import CHANNELS, Signals, packed, unpacked
from benchmarks.flows.work import Spectrum
from benchmarks.pace import Mark
from benchmarks.session import streaming_session
from benchmarks.streaming_side import run_to_end

DDL = "ts TIMESTAMP, x BINARY, y BINARY, z BINARY"
SPECTRA = "x BINARY, y BINARY, z BINARY"


def numpy_loop(spectrum: Spectrum, signals: Signals, _home: Path, said: Said) -> list[Mark]:
    """Call the function window by window, in one thread, on what is in memory already."""
    marks, rows = [], 0
    for table in list(signals.tables()):
        channels = [unpacked(table[name], signals.size) for name in CHANNELS]
        out = [np.empty_like(channel) for channel in channels]
        began = time.time()
        for number in range(signals.windows):
            for channel, made in zip(channels, out, strict=True):
                made[number] = spectrum(channel[number])
        rows += signals.windows
        # As if nothing else had happened between files.
        before = marks[-1].at if marks else began
        marks.append(Mark(rows, before + time.time() - began))
        if said is not None:
            columns = {name: packed(each) for name, each in zip(CHANNELS, out, strict=True)}
            said.append(pa.table({"ts": table["ts"], **columns}))
    return marks


def row_udf(spark: SparkSession, spectrum: Spectrum, *, arrow: bool) -> Any:
    """Return a side with a UDF that is called for each row."""

    def of_row(x: bytes, y: bytes, z: bytes) -> tuple[bytes, ...]:
        return tuple(spectrum(np.frombuffer(each, np.complex64)).tobytes() for each in (x, y, z))

    made: Any = F.udf(of_row, SPECTRA, useArrow=arrow)
    return _streamed(spark, lambda frame: _unfolded(frame, made(*CHANNELS)))


def pandas_udf(spark: SparkSession, spectrum: Spectrum) -> Any:
    """Return a side with a UDF that is called for a batch, as pandas has it."""

    def of_series(x: pd.Series, y: pd.Series, z: pd.Series) -> pd.DataFrame:
        def whole(column: pd.Series) -> pd.Series:
            return column.map(lambda each: spectrum(np.frombuffer(each, np.complex64)).tobytes())

        return pd.DataFrame({"x": whole(x), "y": whole(y), "z": whole(z)})

    made: Any = F.pandas_udf(of_series, SPECTRA)  # type: ignore[call-overload]
    return _streamed(spark, lambda frame: _unfolded(frame, made(*CHANNELS)))


def carried(spark: SparkSession) -> Any:
    """Return a side that brings the columns to Python and back, and touches nothing."""

    def through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    return _streamed(spark, lambda frame: frame.mapInArrow(through, DDL))


def carried_in_jobs(spark: SparkSession) -> Any:
    """Return the same as one job for each file, without what a streaming batch costs."""

    def through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    def run(signals: Signals, _home: Path, said: Said) -> list[Mark]:
        marks: list[Mark] = []
        for number, each in enumerate(sorted(signals.path.glob("*.parquet"))):
            frame = spark.read.schema(DDL).parquet(str(each)).mapInArrow(through, DDL)
            frame.write.format("noop").mode("overwrite").save()
            marks.append(Mark((number + 1) * signals.windows, time.time()))
            if said is not None:
                said.append(frame.toArrow())
        return marks

    return run


def _unfolded(frame: DataFrame, called: Any) -> DataFrame:
    return frame.select("ts", called.alias("s")).select("ts", "s.x", "s.y", "s.z")


def _streamed(spark: SparkSession, change: Callable[[DataFrame], DataFrame]) -> Any:
    def run(signals: Signals, home: Path, said: Said) -> list[Mark]:
        session = streaming_session(spark)
        reader = session.readStream.schema(DDL).format("parquet").option("maxFilesPerTrigger", 1)
        return run_to_end(change(reader.load(str(signals.path))), home, said)

    return run
