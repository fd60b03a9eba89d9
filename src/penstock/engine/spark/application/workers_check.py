"""A look at the workers of a cluster before anything runs there: versions, and what they see.

What is wrong with them would otherwise show up in the middle of a run, as a trace of another
machine's. The look itself is sent by value: it has to work where nothing else does.
"""

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from penstock.errors import HomeUnseenError, SparkMissingError, WorkersUnlikeError

PATIENCE_SECONDS = 300.0  # for the first cores: clusters may have to start machines
TAG = "penstock-look"
NEEDED = ("pyarrow", "numpy")
OTHER_PYTHON = "PYTHON_VERSION_MISMATCH"


@dataclass(frozen=True, slots=True)
class WorkerLook:
    """What one worker says: the first thing that is missing, and whether it sees the directory.

    `origin` is where its Penstock comes from.
    """

    host: str
    origin: str
    missing: str
    sees: bool


def look_at_workers(
    context: SparkContext, shipped: str, shared: Path | None, patience: float = PATIENCE_SECONDS
) -> None:
    """Raise where the workers of a cluster could not do what will be asked of them.

    Args:
        context: the application.
        shipped: what they have been given; nothing is asked where that is nothing.
        shared: a directory below which a file is put that all of them have to see.
        patience: how many seconds the cluster may take to give a first core.

    Raises:
        SparkMissingError: no worker has answered in time.
        WorkersUnlikeError: they have another Python or Penstock, or lack a package.
        HomeUnseenError: they do not see the directory.
    """
    if not shipped:
        return
    with _mark(shared) as (path, word):
        for found in _answers(context, _look(path, word), patience):
            _judge(found, shipped, shared)


def unlike(host: str, what: str) -> WorkersUnlikeError:
    """Return the error for workers that are not as the driver is."""
    return WorkersUnlikeError(
        f"a worker on {host} {what}",
        hint="give workers the driver's Python and packages: PYSPARK_PYTHON names it there, or "
        "--conf spark.archives ships an environment (docs/howto/cluster.md)",
    )


def _judge(found: WorkerLook, shipped: str, shared: Path | None) -> None:
    if found.missing:
        raise unlike(found.host, f"has no {found.missing}")
    if shipped not in found.origin:
        raise unlike(found.host, f"takes another Penstock than the driver's, {found.origin}")
    if not found.sees:
        raise HomeUnseenError(
            f"a worker on {found.host} does not see {shared}, or may not write there",
            hint="put the home on a file system that driver and workers see under the same path "
            "and may read and write",
        )


def _answers(
    context: SparkContext, look: Callable[[int], tuple[Any, ...]], patience: float
) -> list[WorkerLook]:
    """Return what workers say, a few times as many tasks as there are cores."""
    tasks = 2 * max(1, context.defaultParallelism)
    answer: Future[list[Any]] = Future()

    def ask() -> None:
        try:
            context.addJobTag(TAG)
            answer.set_result(context.parallelize(range(tasks), tasks).map(look).collect())
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=ask, name="penstock-look", daemon=True).start()
    try:
        return [WorkerLook(*each) for each in answer.result(patience)]
    except NotInTime:
        context.cancelJobsWithTag(TAG)
        raise SparkMissingError(
            f"{context.master} has given no worker in {patience:g} seconds",
            hint="its page shows whether workers are alive and have cores and memory left; "
            "--conf spark.executor.memory and spark.executor.cores say what is asked of them",
        ) from None
    except (PySparkException, Py4JError) as error:
        if OTHER_PYTHON in str(error):
            raise unlike(f"{context.master}", "has another Python than the driver") from error
        raise SparkMissingError(
            f"the workers of {context.master} cannot run Python: {str(error).splitlines()[0]}",
            hint="PYSPARK_PYTHON names the Python that they have",
        ) from error


def _look(path: str, word: str) -> Callable[[int], tuple[Any, ...]]:
    """Return what a worker does, made here so that it is sent by value."""
    needed = NEEDED

    def read_and_write() -> bool:
        """Read what the driver has put there, and put something beside it."""
        from pathlib import Path  # noqa: PLC0415  (in the worker)
        from uuid import uuid4  # noqa: PLC0415

        mark = Path(path)
        own = mark.with_name(f"{mark.name}-{uuid4().hex}")
        own.touch()
        own.unlink()
        return mark.read_text() == word

    def look(_: int) -> tuple[Any, ...]:
        import importlib  # noqa: PLC0415  (in the worker)
        import socket  # noqa: PLC0415

        host, missing = socket.gethostname(), ""
        for name in (*needed, "penstock"):
            try:
                importlib.import_module(name)
            except ImportError:
                missing = missing or name
        origin = "" if missing else str(importlib.import_module("penstock").__file__)
        try:
            sees = not path or read_and_write()
        except OSError:
            sees = False
        return host, origin, missing, sees

    return look


@contextmanager
def _mark(shared: Path | None) -> Iterator[tuple[str, str]]:
    """Put a file there that nobody else can have, and give its path and what is in it."""
    if shared is None:
        yield "", ""
        return
    word = secrets.token_hex(16)
    path = shared / f"seen-{word[:8]}"
    path.write_text(word)
    try:
        yield str(path), word
    finally:
        path.unlink(missing_ok=True)
