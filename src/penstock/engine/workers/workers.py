"""The tasks of a stage as one job of Spark: a partition for each, items by way of files."""

import pickle
import queue
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext, cloudpickle
from pyspark.errors import PySparkException

from penstock.engine.spark.spark_errors import run_error
from penstock.engine.workers.crossing import write_items
from penstock.engine.workers.lost import lost
from penstock.engine.workers.task import (
    Load,
    TaskInput,
    TaskResult,
    Unload,
    brought_back,
    done_in_worker,
)
from penstock.errors import PenstockError
from penstock.functions.data.operator_state import to_bytes
from penstock.functions.flows.flow import Source
from penstock.functions.operators.operator import InputItems


@dataclass(slots=True)
class RunFiles:
    """Where the items of one run lie: those that came from workers are there already."""

    room: Path
    paths: dict[Source, Path] = field(default_factory=dict)

    def of(self, source: Source, arrival: InputItems) -> str:
        """Return the file of some items, written where it is not there yet."""
        if source not in self.paths:
            path = self.room / f"{uuid.uuid4().hex}.arrow"
            write_items(arrival.items, path)
            self.paths[source] = path
        return str(self.paths[source])


@contextmanager
def files_below(spill: Path) -> Iterator[RunFiles]:
    """Give files a directory of their own for a run."""
    room = spill / f"flow-{uuid.uuid4().hex}"
    room.mkdir(parents=True)
    try:
        yield RunFiles(room)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def done_by_workers(
    spark: SparkContext, works: Sequence[TaskInput], files: RunFiles, patience: float | None
) -> tuple[list[TaskResult], float]:
    """Return what each task gave, and the seconds in which the driver wrote and read.

    A task that is not done within `patience` seconds is given up: its result says that it is lost.
    """
    began = time.perf_counter()
    loads = [_load(place, work, files) for place, work in enumerate(works)]
    written = time.perf_counter()
    answers = _run(spark, loads, patience)
    answered = time.perf_counter()
    results = []
    for place, work in enumerate(works):
        if (answer := answers.get(place)) is None:
            results.append(lost(work))
            continue
        unload = Unload(*pickle.loads(answer))  # noqa: S301  (ours)
        if work.span is None:  # else a file has a piece of what comes out
            files.paths.update({number: Path(path) for number, path, _ in unload.ways})
        results.append(brought_back(work.program, unload))
    return results, written - began + time.perf_counter() - answered


def _load(place: int, work: TaskInput, files: RunFiles) -> bytes:
    ways = {
        source: (files.of(source, arrival), arrival.progress)
        for source, arrival in work.arrivals.items()
    }
    room = files.room / f"{place}-{uuid.uuid4().hex}"
    room.mkdir()
    load = Load(work.program, to_bytes(work.states), ways, str(room), work.now, work.span)
    return bytes(cloudpickle.dumps(load))  # type: ignore[no-untyped-call]


def _run(
    spark: SparkContext, loads: Sequence[bytes], patience: float | None
) -> Mapping[int, bytes]:
    """Return the answers of the tasks by their places; all of them, unless patience ends."""
    if patience is None or len(loads) == 1:
        return dict(_collected(spark, list(enumerate(loads))))
    answers: queue.SimpleQueue[tuple[int, bytes | PenstockError]] = queue.SimpleQueue()
    tag = f"penstock-{uuid.uuid4().hex}"

    def one(place: int) -> None:
        try:
            spark.addJobTag(tag)
            answers.put(_collected(spark, [(place, loads[place])])[0])
        except PenstockError as error:  # such as a worker that died
            answers.put((place, error))

    began = time.monotonic()
    for place in range(len(loads)):
        threading.Thread(target=one, args=(place,), daemon=True).start()
    waves = -(-len(loads) // spark.defaultParallelism)
    found = _gathered(answers, len(loads), lambda first: 2 * waves * (first - began) + patience)
    if len(found) < len(loads):
        spark.cancelJobsWithTag(tag)
    answered = {place: answer for place, answer in found.items() if isinstance(answer, bytes)}
    if not answered:
        raise next(error for error in found.values() if isinstance(error, PenstockError))
    return answered


def _gathered(
    answers: "queue.SimpleQueue[tuple[int, bytes | PenstockError]]",
    count: int,
    allowed: Callable[[float], float],
) -> dict[int, bytes | PenstockError]:
    """Return what comes; once the first task is done, the others have a time that is `allowed`.

    Twice as long as the first took, in as many waves as there are, is no fault of theirs.
    """
    found = dict([answers.get()])
    first = time.monotonic()
    until = first + allowed(first)
    while len(found) < count and (left := until - time.monotonic()) > 0:
        try:
            place, answer = answers.get(timeout=left)
        except queue.Empty:
            break
        found[place] = answer
    return found


def _collected(spark: SparkContext, loads: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    work = _work()
    try:
        return spark.parallelize(loads, len(loads)).map(work).collect()
    except (PySparkException, Py4JError) as error:
        raise run_error(error) from error


def _work() -> Any:
    """Return what a worker does to a load, made here so that it is sent by value."""

    def work(numbered: tuple[int, bytes]) -> tuple[int, bytes]:
        place, load = numbered
        return place, pickle.dumps(done_in_worker(pickle.loads(load)))  # noqa: S301  (ours)

    return work
