"""The end of Spark's Java, played by a process that is not Java."""

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from penstock.engine.spark.application.spark_life import death_told, refuse_dead
from penstock.engine.spark.spark_errors import analysis_error, run_error
from penstock.errors import RunError, SparkDiedError
from penstock.runtime.work.worker_pool import WorkerPool

Java = subprocess.Popen[bytes]


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch) -> Iterator[Java]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
    yield process
    process.kill()
    process.communicate()


def test_while_java_lives_errors_are_what_they_are(java: Java) -> None:
    refuse_dead()
    refuse_dead(ValueError("of a query"))
    assert java.poll() is None
    assert isinstance(run_error(ValueError("of a query")), RunError)
    with pytest.raises(ZeroDivisionError), death_told():
        raise ZeroDivisionError


def test_without_a_java_of_this_process_nothing_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    for gateway in (None, SimpleNamespace(proc=None)):
        monkeypatch.setattr(SparkContext, "_gateway", gateway)
        refuse_dead(Py4JNetworkError("nobody answers"))


def test_a_call_that_does_not_get_through_is_the_first_sign_of_death(java: Java) -> None:
    java.kill()  # and nobody has seen yet that it ended
    wrapped = RunError("nobody answers")
    wrapped.__cause__ = Py4JNetworkError("nobody answers")
    with pytest.raises(SparkDiedError) as told:
        refuse_dead(wrapped)
    assert "signal 9" in told.value.message
    assert told.value.hint


def test_once_java_is_dead_whatever_fails_is_its_death(java: Java) -> None:
    java.kill()
    java.wait()
    with pytest.raises(SparkDiedError):
        refuse_dead()
    for told in (run_error, analysis_error):
        with pytest.raises(SparkDiedError):
            told(ValueError("of a query"))
    with pytest.raises(SparkDiedError), death_told():
        raise ZeroDivisionError


def test_what_fails_of_it_is_not_settled(java: Java) -> None:
    pool, settled = WorkerPool(1), list[object]()

    def fail() -> None:
        java.kill()
        java.wait()
        raise Py4JNetworkError("nobody answers")

    pool.submit("unit:x", fail, settled.append)
    with pytest.raises(SparkDiedError):
        pool.settle_all(0.01)
    with pytest.raises(SparkDiedError):
        pool.do_here(fail, settled.append)
    assert settled == []
    pool.dismiss()
