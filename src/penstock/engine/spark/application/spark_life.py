"""Whether Spark's Java process lives, and what to do where it does not.

A process has one Java of Spark's, behind pyspark's gateway. When it dies, every call fails in its
own way: nobody may take that for a failure of the query, the rule or the source that made it.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.errors import SparkDiedError

# A process that dies closes its connections a moment before it can be seen to have ended.
GRACE_SECONDS = 5.0


def refuse_dead(error: BaseException | None = None) -> None:
    """Raise SparkDiedError where Spark's Java has ended; `error` is what somebody met meanwhile."""
    if isinstance(error, SparkDiedError):
        raise error
    if _has_ended(GRACE_SECONDS if error is not None and _has_lost_java(error) else 0.0):
        raise _death() from error


@contextmanager
def death_told() -> Iterator[None]:
    """Raise SparkDiedError instead of whatever else comes of a Java that has ended."""
    try:
        yield
    except Exception as error:
        refuse_dead(error)
        raise


def forget_dead() -> bool:
    """Allow a new Java process where the last one has ended; False where it lives.

    By itself pyspark keeps the first one for the life of the process.
    """
    if not _has_ended(0.0):
        return False
    context, gateway = SparkContext._active_spark_context, SparkContext._gateway
    with suppress(Exception):  # what is left of it, such as sockets
        if context is not None:
            context._accumulatorServer.shutdown()
    with suppress(Exception):
        if gateway is not None:
            gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    return True


def _has_ended(grace: float) -> bool:
    java = _java()
    if java is None:  # nobody has started one, or another process has
        return False
    try:
        java.wait(grace) if grace else java.poll()
    except subprocess.TimeoutExpired:
        return False
    return java.returncode is not None


def _java() -> Any:
    return getattr(SparkContext._gateway, "proc", None)


def _has_lost_java(error: BaseException) -> bool:
    """Say whether an error, or one that it comes from, tells of a call that did not get through."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, Py4JError) and not isinstance(found, Py4JJavaError):
            return True
        found = found.__cause__ or found.__context__
    return False


def _death() -> SparkDiedError:
    code = _java().returncode
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return SparkDiedError(
        f"Spark has died: its Java process ended ({how})",
        hint="nothing is lost: the same command, or connect(), goes on; often memory was short",
    )
