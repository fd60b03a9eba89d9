"""Penstock's side: a flow over a stream of files."""

import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import penstock
from benchmarks.contest import Said
from benchmarks.flows.signals import Signals
from benchmarks.flows.work import Spectrum
from benchmarks.pace import Mark
from benchmarks.penstock_side import PATIENCE_SECONDS
from penstock.engine.sinks.sink import Delivery
from penstock.functions import Function, Items, Role, Split, fft3_combine, fft3_part
from penstock.functions.data.results import complex_vectors

STREAM = (
    "CREATE STREAM radio (ts TIMESTAMP, x COMPLEX VECTOR, y COMPLEX VECTOR, z COMPLEX VECTOR) "
    "TIMESTAMP BY ts FROM files(path => '{path}', format => 'parquet', files_per_train => 1, "
    "bounded => true)"
)
QUERY = "CREATE QUERY spectrum WITH (sites => '{place}') AS FLOW {flow} OVER radio"


def flow_side(spark: SparkSession, flow: str, spectrum: Spectrum, place: str = "auto") -> Any:
    """Return a side that runs a flow; `dear` in it is the function that takes its time."""

    def run(signals: Signals, home: Path, said: Said) -> list[Mark]:
        marks: list[Mark] = []

        def handed(delivery: Delivery) -> None:
            before = marks[-1].rows if marks else 0
            marks.append(Mark(before + delivery.rows.num_rows, time.time()))
            if said is not None:
                said.append(delivery.rows)

        with penstock.connect(home, spark=spark) as connection:
            connection.register(dear(spectrum))
            connection.tap(handed)
            query = QUERY.format(flow=flow, place=place)
            connection.script(f"{STREAM.format(path=signals.path)};{query}")
            assert connection.wait(PATIENCE_SECONDS), "Penstock did not get through"
        assert marks[-1].rows == signals.windows * signals.files
        return marks

    return run


def dear(spectrum: Spectrum) -> Function:
    """Return the function that makes its FFT so often that it takes its time."""

    def work(items: Items) -> Items:
        kind = complex_vectors(items.type, {})
        made = {
            name: items.vectors(name).map(spectrum, kind.vectors[name]) for name in kind.vectors
        }
        return items.with_columns(kind, made)

    split = Split(fft3_part, fft3_combine, "powers of two")
    return Function("dear", Role.TRANSFORM, work, complex_vectors, split=split)
