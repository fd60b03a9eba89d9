"""The three systems, each as what can be asked of it: to answer, and to be timed."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from benchmarks.many import flink_sql, penstock_sql, spark_sql
from benchmarks.many.environments import FlinkHome
from benchmarks.many.load import Load, write_for_flink
from benchmarks.many.processes import Answer, CannotCopeError, Child
from benchmarks.many.queries import Query
from benchmarks.session import STORES

TELLING = 1.5  # a whole run must take so many times as long as one over the warm files alone
GRACE_SECONDS = 60.0  # more than the child itself waits, so that it can say what happened
FLINK_SETTINGS = {
    "parallelism.default": "2",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    # Every window aggregate wants a share of the managed memory; 128 MB do not do for a hundred.
    "taskmanager.memory.managed.size": "4gb",
    "taskmanager.memory.network.min": "1gb",
    "taskmanager.memory.network.max": "1gb",
    "taskmanager.network.memory.buffers-per-channel": "2",
    "rest.bind-port": "0",
}


@dataclass(frozen=True, slots=True)
class Run:
    """What one run took, between the end of the warm files and the end of the last one."""

    seconds: float
    cpu_seconds: float
    stood_seconds: float


class System(Protocol):
    """A system under test. What it cannot do it says by CannotCopeError."""

    name: str
    child: Child

    def answer(self, queries: Sequence[Query], load: Load, out: Path, patience: float) -> None:
        """Write every query's rows below `out`."""
        ...

    def run(self, queries: Sequence[Query], load: Load, patience: float) -> Run:
        """Return what a run took."""
        ...


class Penstock:
    """All queries in one Penstock."""

    name = "Penstock"

    def __init__(self, child: Child, *, coalesce: bool = False) -> None:
        self.child, self.coalesce = child, coalesce

    def answer(self, queries: Sequence[Query], load: Load, out: Path, patience: float) -> None:
        self._run(queries, load, patience, out)

    def run(self, queries: Sequence[Query], load: Load, patience: float) -> Run:
        free = self.coalesce
        answer = (self._run_freely if free else self._run)(queries, load, patience)
        begin, end = answer.said["marks"]
        return _run_of(answer, begin, end)

    def _run(
        self, queries: Sequence[Query], load: Load, patience: float, out: Path | None = None
    ) -> Answer:
        return self.child.ask(
            "run",
            patience + GRACE_SECONDS,
            script=penstock_sql.script(queries, load),
            home=load.path.parent / uuid4().hex,
            watermarks=[load.watermark(load.warm), load.watermark(load.batches)],
            patience=patience,
            out=out,
            coalesce=self.coalesce,
        )

    def _run_freely(self, queries: Sequence[Query], load: Load, patience: float) -> Answer:
        staged = replace(load, path=load.path.parent / "staged")
        return self.child.ask(
            "run_freely",
            patience + GRACE_SECONDS,
            script=penstock_sql.script(queries, staged, bounded=False),
            home=load.path.parent / uuid4().hex,
            path=load.path,
            staged=staged.path,
            warm=load.warm,
            watermark=load.watermark(load.batches),
            patience=patience,
        )


class StructuredStreaming:
    """A streaming query for each query, with one of the state stores."""

    def __init__(
        self, child: Child, store: str = STORES[0].name, *, coalesce: bool = False
    ) -> None:
        self.child, self.store, self.coalesce = child, store, coalesce
        self.name = f"Structured Streaming, {store}"

    def answer(self, queries: Sequence[Query], load: Load, out: Path, patience: float) -> None:
        self._run(queries, load, patience, out)

    def run(self, queries: Sequence[Query], load: Load, patience: float) -> Run:
        answer = self._run(queries, load, patience, None)
        begin, end = answer.said["marks"]
        return _run_of(answer, begin, end)

    def batch(self, queries: Iterable[Query], load: Load, out: Path, patience: float) -> None:
        """Write what every system must say, by Spark's batch queries."""
        self.child.ask("batch", patience, selects=_selects(queries), path=load.path, out=out)

    def _run(
        self, queries: Sequence[Query], load: Load, patience: float, out: Path | None
    ) -> Answer:
        return self.child.ask(
            "run",
            patience + GRACE_SECONDS,
            selects=_selects(queries),
            path=load.path,
            home=load.path.parent / uuid4().hex,
            store=self.store,
            warm=load.warm,
            patience=patience,
            out=out,
            coalesce=self.coalesce,
        )


class Flink:
    """All queries in one statement set.

    It cannot be asked how far it is, so a run over the warm files alone is subtracted.
    """

    name = "Flink SQL"

    def __init__(self, child: Child, home: FlinkHome) -> None:
        self.child, self._home = child, home

    def answer(self, queries: Sequence[Query], load: Load, out: Path, patience: float) -> None:
        path = write_for_flink(load, load.batches, self._home.form, readers=1)
        self._ask(queries, path, patience, out)

    def run(self, queries: Sequence[Query], load: Load, patience: float) -> Run:
        less, more = (
            self._ask(queries, write_for_flink(load, n, self._home.form), patience, None)
            for n in (load.warm, load.batches)
        )
        took, start = more.said["job_seconds"], less.said["job_seconds"]
        if took < TELLING * start:
            raise CannotCopeError(f"{took:.1f} s cannot be told from a start of {start:.1f} s")
        return Run(
            took - start,
            more.cpu_between(*more.said["interval"]) - less.cpu_between(*less.said["interval"]),
            more.said["stood_seconds"],
        )

    def _ask(
        self, queries: Sequence[Query], path: Path, patience: float, out: Path | None
    ) -> Answer:
        try:
            sinks = [flink_sql.sink(query, out) for query in queries]
            return self.child.ask(
                "run",
                patience,
                settings=FLINK_SETTINGS,
                tables=flink_sql.sources(path, self._home.form) + sinks,
                inserts=[flink_sql.insert(query) for query in queries],
            )
        finally:
            shutil.rmtree(path)


def penstock_child(log: Path) -> Child:
    """Return Penstock's process."""
    return Child([sys.executable, "-m", "benchmarks.many.penstock_child"], {}, log)


def streaming_child(log: Path) -> Child:
    """Return Structured Streaming's process."""
    return Child([sys.executable, "-m", "benchmarks.many.streaming_child"], {}, log)


def flink_child(home: FlinkHome, log: Path) -> Child:
    """Return Flink's process."""
    argv = [str(home.python), "-m", "benchmarks.many.flink_child"]
    return Child(argv, home.environment, log)


def _selects(queries: Iterable[Query]) -> dict[str, Any]:
    return {query.name: spark_sql.select(query) for query in queries}


def _run_of(answer: Answer, begin: float, end: float) -> Run:
    if end <= begin:
        raise CannotCopeError("no rows were due: take more files")
    return Run(end - begin, answer.cpu_between(begin, end), answer.said["stood_seconds"])
