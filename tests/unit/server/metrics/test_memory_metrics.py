"""A scrape waits for no Java."""

import threading
import time

import pytest

from penstock.engine.spark.application.java_memory import JavaMemory
from penstock.server.metrics.memory_metrics import PATIENCE_SECONDS, JavaMetrics

MEMORY = JavaMemory(1, 2, 3, 4.0, 5)


def samples(java: JavaMetrics) -> list[float]:
    return [sample.value for metric in java.metrics() for sample in metric.samples]


def test_a_java_that_does_not_answer_is_left_out_until_it_does() -> None:
    answer, asked = threading.Event(), []

    def ask() -> JavaMemory:
        asked.append(time.monotonic())
        answer.wait()
        return MEMORY

    java = JavaMetrics(ask)
    began = time.monotonic()
    assert samples(java) == []
    assert samples(java) == []
    assert time.monotonic() - began < 2 * PATIENCE_SECONDS + 5
    assert len(asked) == 1  # the second scrape waits for the first one's question
    answer.set()
    assert sorted(samples(java)) == [1, 2, 3, 4, 5]
    java.close()


@pytest.mark.parametrize("found", [None, JavaMemory(1, 2, 3, 4.0, None)])
def test_what_is_not_known_has_no_sample(found: JavaMemory | None) -> None:
    java = JavaMetrics(lambda: found)
    assert sorted(samples(java)) == ([] if found is None else [1, 2, 3, 4])
    java.close()


def test_a_java_that_fails_is_left_out() -> None:
    def ask() -> JavaMemory:
        raise RuntimeError

    java = JavaMetrics(ask)
    assert samples(java) == []
    java.close()
